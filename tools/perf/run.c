/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "talk.h"
#include "terms.h"

/*
 * One test, step by step, on the main thread; the worker is asked to do what belongs to the NIC.
 * Each step is an object to the other end and one from it, so that both are at the same place.
 */

/* READs and atomics outstanding of a QP. */
#define NB_RD_ATOMIC WEFT_MAX_RD_ATOMIC
/* 4.096 us x 2^14 = 67 ms, as perftest. */
#define TIMEOUT 14

struct run {
	const struct options *opt;
	struct worker *worker;
	struct load *load;
	struct talk *talk;
	struct perf_test test;
	struct perf_result result;
	uint8_t sgid_index;
	struct perf_end peer;
	const json_t *peer_qps; /* while connecting */
	uint64_t first, end;    /* of the round */
	int err;
};

/* ---- what is to be done ---- */

static bool
agree_test(struct run *r)
{
	json_t *j;
	bool ok;

	if (r->opt->server) {
		r->test = r->opt->test;
		return talk_say(r->talk, terms_test(&r->test));
	}
	j = talk_hear(r->talk);
	ok = j && terms_take_test(j, &r->test);
	json_decref(j);
	return ok;
}

static uint64_t
megabytes(uint64_t bytes)
{
	return (bytes + (1 << 20) - 1) >> 20;
}

/* A server's memory is its own: whoever connects may have no more than was said. */
static bool
is_allowed(const struct run *r)
{
	uint64_t needs = load_needs(&r->test);
	char why[256];

	if (r->opt->server || needs <= r->opt->max_memory)
		return true;
	snprintf(why, sizeof(why),
	         "this test needs %" PRIu64 " MB at the server, whose --max-memory is %" PRIu64
	         " MB: raise that there to %" PRIu64 "M, or lower --qp, --size or --tx-depth",
	         megabytes(needs), r->opt->max_memory >> 20, megabytes(needs));
	fprintf(stderr, "weft-perf: refused %s: %s\n", talk_peer(r->talk), why);
	talk_fail(r->talk, why);
	return false;
}

/* Before either end takes any memory. */
static bool
plan(struct run *r)
{
	uint64_t bytes = load_memory(&r->test);

	if (!is_allowed(r))
		return false;
	if (bytes <= PERF_MAX_MEMORY && load_plan(r->load, &r->test, r->opt->server) == 0)
		return true;
	fprintf(stderr,
	        "weft-perf: %u QPs and messages of %u bytes need %" PRIu64
	        " MB, more than there is\n",
	        r->test.nb_qps, r->test.size, bytes >> 20);
	talk_fail(r->talk, "not enough memory for this test");
	return false;
}

/* ---- addresses and path MTU ---- */

/* The address of the TCP connection if it is one of ours, else the first that is not link-local. */
static bool
choose_gid(struct run *r)
{
	const struct nic *nic = r->load->nic;
	struct ip_addr own;
	char used[200];
	uint32_t i = 0;

	if (r->opt->gid_index >= 0) {
		r->sgid_index = (uint8_t)r->opt->gid_index;
		if (gid_at(&nic->gids, r->sgid_index))
			return true;
		fprintf(stderr, "weft-perf: there is no GID %u; there are %s\n", r->sgid_index,
		        gid_indices_text(&nic->gids, used, sizeof(used)));
		talk_fail(r->talk, "no such GID there");
		return false;
	}
	talk_own_ip(r->talk, own.b);
	while (i < nic->gids.nb_used && memcmp(&nic->gids.entry[i].ip, &own, sizeof(own)) != 0)
		i++;
	if (i == nic->gids.nb_used)
		for (i = 1; i < nic->gids.nb_used && !gid_at(&nic->gids, i); i++)
			;
	r->sgid_index = i < nic->gids.nb_used ? (uint8_t)i : GID_LINK_LOCAL;
	return true;
}

/* ---- QPs ---- */

static void
open_on_worker(void *arg, uint64_t now_ns)
{
	struct run *r = arg;

	(void)now_ns;
	r->err = load_open(r->load);
}

/* What the NIC can, or less if the options want that. */
static uint32_t
own_mtu(const struct run *r)
{
	uint32_t mtu = mtu_bytes(r->load->nic->active_mtu), max = r->opt->test.mtu;

	return max && max < mtu ? max : mtu;
}

static json_t *
own_end(const struct run *r)
{
	const struct load *l = r->load;
	const struct perf_end end = {
		.gid = l->nic->gids.entry[r->sgid_index].ip,
		.mtu = own_mtu(r),
		.addr = (uintptr_t)l->mem,
		.rkey = l->mr.mr->key,
	};
	json_t *qps = json_array();

	for (uint32_t i = 0; i < l->test.nb_qps; i++)
		json_array_append_new(qps, terms_qp(l->qps[i].app.qp->qpn, l->qps[i].psn));
	return terms_end(&end, qps);
}

static uint8_t
mtu_code_of(uint32_t bytes)
{
	uint8_t code = SHM_MTU_256;

	while (code < SHM_MTU_4096 && mtu_bytes(code + 1) <= bytes)
		code++;
	return code;
}

static bool
take_peer(struct run *r, const json_t *json)
{
	uint32_t mtu = own_mtu(r);

	r->peer_qps = terms_take_end(json, r->test.nb_qps, &r->peer);
	if (!r->peer_qps)
		return false;
	r->test.mtu = mtu_bytes(mtu_code_of(r->peer.mtu < mtu ? r->peer.mtu : mtu));
	return true;
}

static void
connect_on_worker(void *arg, uint64_t now_ns)
{
	struct run *r = arg;
	struct load *l = r->load;
	const uint64_t part = l->mem_bytes / l->test.nb_qps;

	r->err = 0;
	for (uint32_t i = 0; i < l->test.nb_qps && !r->err; i++) {
		struct load_qp *q = &l->qps[i];
		struct local_peer peer = {
			.gid = r->peer.gid,
			.own_psn = q->psn,
			.sgid_index = r->sgid_index,
			.path_mtu = mtu_code_of(r->test.mtu),
			.timeout = TIMEOUT,
			.nb_rd_atomic = NB_RD_ATOMIC,
			.retry_cnt = 7,
			.rnr_retry = 7,
			.min_rnr_timer = 12,
		};

		if (!terms_take_qp(r->peer_qps, i, &peer.qpn, &peer.psn)) {
			r->err = -EINVAL;
			return;
		}
		q->remote_addr = r->peer.addr + i * part;
		q->remote_rkey = r->peer.rkey;
		r->err = local_qp_connect(&q->app, &peer, now_ns);
	}
}

/* Why a QP was not connected; the peer's user needs to know, too. */
static void
tell_refusal(struct run *r)
{
	const char *why = r->load->nic->refusal;

	if (!*why)
		why = "can't connect the QPs: what the other end said makes no sense";
	fprintf(stderr, "weft-perf: %s\n", why);
	talk_fail(r->talk, why);
}

static bool
connect_qps(struct run *r)
{
	json_t *end;
	bool ok;

	worker_call(r->worker, open_on_worker, r);
	if (r->err) {
		fprintf(stderr, "weft-perf: %u QPs: %s\n", r->test.nb_qps, strerror(-r->err));
		talk_fail(r->talk, "can't make the QPs");
		return false;
	}
	if (!choose_gid(r) || !talk_say(r->talk, own_end(r)))
		return false;
	end = talk_hear(r->talk);
	ok = end && take_peer(r, end);
	if (ok) {
		worker_call(r->worker, connect_on_worker, r);
		if (r->err) {
			tell_refusal(r);
			ok = false;
		}
	}
	r->load->test.mtu = r->test.mtu;
	r->peer_qps = NULL;
	json_decref(end);
	return ok;
}

/* ---- rounds ---- */

static void
prepare_on_worker(void *arg, uint64_t now_ns)
{
	struct run *r = arg;

	load_prepare(r->load, r->first, r->end, now_ns);
	if (!r->opt->server)
		load_go(r->load, now_ns);
}

static void
go_on_worker(void *arg, uint64_t now_ns)
{
	load_go(((struct run *)arg)->load, now_ns);
}

static void
stop_on_worker(void *arg, uint64_t now_ns)
{
	(void)now_ns;
	load_stop(((struct run *)arg)->load);
}

/* Tell the other end that we are here, and wait until it is. */
static bool
meet(struct run *r)
{
	json_t *j;

	if (!talk_say(r->talk, json_object()))
		return false;
	j = talk_hear(r->talk);
	json_decref(j);
	return j != NULL;
}

static bool
play(struct run *r)
{
	struct load *l = r->load;

	if (!r->opt->server)
		return true;
	worker_call(r->worker, go_on_worker, r);
	while (sem_wait(&l->done) < 0)
		;
	if (!l->why[0])
		return true;
	fprintf(stderr, "weft-perf: %s\n", l->why);
	talk_fail(r->talk, l->why);
	return false;
}

/* Both compare what they got; each learns of the other's. */
static bool
compare(struct run *r)
{
	uint64_t wrong = r->test.is_checked ? load_verify(r->load) : 0, theirs = 0;
	json_t *j;
	bool ok;

	if (!talk_say(r->talk, json_pack("{s:I}", "wrong", (json_int_t)wrong)))
		return false;
	j = talk_hear(r->talk);
	ok = j && terms_number(j, "wrong", 0, INT64_MAX, &theirs);
	json_decref(j);
	if (ok && wrong + theirs == 0)
		return true;
	if (ok)
		fprintf(stderr,
		        "weft-perf: %" PRIu64 " messages of %" PRIu64 " to %" PRIu64
		        " of each QP have wrong bytes\n",
		        wrong + theirs, r->first, r->end - 1);
	return false;
}

static bool
run_rounds(struct run *r)
{
	uint64_t round = load_round(&r->test), all = r->test.iters ? r->test.iters : UINT64_MAX;

	for (r->first = 0; r->first < all; r->first = r->end) {
		r->end = all - r->first < round ? all : r->first + round;
		r->load->first = r->first;
		r->load->end = r->end;
		if (r->test.is_checked)
			load_fill(r->load);
		worker_call(r->worker, prepare_on_worker, r);
		if (!meet(r) || !play(r) || !meet(r))
			return false;
		worker_call(r->worker, stop_on_worker, r);
		if (!compare(r))
			return false;
		if (r->end == UINT64_MAX)
			break;
	}
	return true;
}

/* ---- results ---- */

static void
sum_up(struct run *r)
{
	struct load *l = r->load;

	r->result.iters = l->nb_total;
	r->result.ns = l->spent_ns ? l->spent_ns : 1;
	r->result.peak_bps = 8e9 * (double)l->nb_total * r->test.size / (double)r->result.ns;
	if (l->peak_bps > r->result.peak_bps)
		r->result.peak_bps = l->peak_bps;
	if (l->nb_samples)
		report_latency(&r->result, l->samples_ns, l->nb_samples);
}

static void
tell(struct run *r)
{
	char own[IP_ADDR_TEXT], peer[IP_ADDR_TEXT];
	json_t *j;

	if (r->opt->json) {
		j = report_json(&r->test, &r->result);
		json_dumpf(j, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
		putchar('\n');
		json_decref(j);
		return;
	}
	report_test(&r->test, ip_addr_text(&r->load->nic->gids.entry[r->sgid_index].ip, own),
	            ip_addr_text(&r->peer.gid, peer));
	report_result(&r->test, &r->result, r->opt->gbits);
}

static void
close_on_worker(void *arg, uint64_t now_ns)
{
	(void)now_ns;
	load_close(((struct run *)arg)->load);
}

bool
perf_run(const struct options *opt, struct nodes *nodes, struct load *load)
{
	struct run r = {.opt = opt, .worker = nodes->worker, .load = load};
	bool ok;

	if (!opt->server) {
		printf(" waiting for a client at TCP port %u\n", opt->tcp_port);
		fflush(stdout);
	}
	r.talk =
		opt->server ? talk_connect(opt->server, opt->tcp_port) : talk_accept(opt->tcp_port);
	ok = r.talk && agree_test(&r) && plan(&r) && connect_qps(&r) && run_rounds(&r);
	/* Nobody leaves while the other end may still need an answer. */
	ok = ok && meet(&r);
	if (ok && opt->server) {
		sum_up(&r);
		tell(&r);
	} else if (ok) {
		printf(" %s: done%s\n", talk_peer(r.talk),
		       r.test.is_checked ? ", every byte as it should be" : "");
	}
	worker_call(nodes->worker, close_on_worker, &r);
	talk_close(r.talk);
	load_fini(load);
	return ok;
}
