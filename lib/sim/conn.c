/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "lab_impl.h"
#include "open.h"
#include "psn.h"

/* Connections: an application's two ends of an RC connection, which post what flows need. */

#define PD 1
#define CHANNEL 1
/* GID 0 is the link-local one. */
#define SGID_INDEX 1
#define PSN_BIAS (UINT64_C(1) << 24)
/* Of a READ many PSNs are on their way; beyond this many a second copy counts as the first. */
#define ARRIVED_MIN 256
#define ARRIVED_MAX 65536

static uint32_t
pow2_at_least(uint64_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

/* ---- making and ending them ---- */

static void
put_end(struct lab *lab, struct conn_end *e)
{
	uint64_t key = (uint64_t)e->host << 24 | e->qp.qp->qpn;
	uint32_t i = conn_end_home(lab, key);

	while (lab->ends[i].key)
		i = (i + 1) & lab->ends_mask;
	lab->ends[i] = (struct end_slot){key, e};
}

static int
grow_ends(struct lab *lab)
{
	uint32_t nb = lab->ends ? 2 * (lab->ends_mask + 1) : 64;
	struct end_slot *old = lab->ends, *ends;
	uint32_t nb_old = old ? lab->ends_mask + 1 : 0;

	if (old && 2 * (lab->nb_ends + 1) <= lab->ends_mask)
		return 0;
	ends = calloc(nb, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	lab->ends = ends;
	lab->ends_mask = nb - 1;
	for (uint32_t i = 0; i < nb_old; i++)
		if (old[i].key)
			put_end(lab, old[i].end);
	free(old);
	return 0;
}

static int
make_end(struct conn_end *e, struct lab_host *host)
{
	uint32_t depth = host->lab->conf.host.depth; /* of the queues that are used */
	const struct local_qp_conf conf = {
		.type = SHM_QPT_RC,
		.depth = e == conn_requester(e->conn) ? depth : 1,
		.recv_depth = e->conn->verb == FLOW_SEND && e == &e->conn->end[1] ? depth : 1,
		.pd = PD,
		.channel = CHANNEL,
		.cookie = (uintptr_t)e,
	};
	const uint32_t access =
		SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE | SHM_ACCESS_REMOTE_READ;

	e->host = host->idx;
	list_init(&e->to_poll);
	e->seg = (struct mem_seg){.va = CONN_BASE, .len = CONN_LEN};
	e->mem = (struct mem){.ops = &watch_mem_ops, .owner = e, .nb_segs = 1, .segs = &e->seg};
	e->mr = mr_create(host->nic, PD, access, CONN_BASE, CONN_BASE, CONN_LEN, &e->mem);
	if (!e->mr || local_qp_open(&e->qp, host->nic, &conf) != 0 || grow_ends(host->lab) != 0)
		return -ENOMEM;
	put_end(host->lab, e);
	host->lab->nb_ends++;
	local_arm(&e->qp.cq);
	host->result->nb_qps++;
	return 0;
}

static void
close_end(struct conn_end *e, struct lab_host *host)
{
	list_del(&e->to_poll);
	local_qp_close(&e->qp);
	if (e->mr) {
		int err = mr_destroy(host->nic, e->mr);

		assert(!err);
	}
}

static uint8_t
mtu_code(uint32_t bytes)
{
	uint8_t code = 1;

	while (mtu_bytes(code) < bytes)
		code++;
	return code;
}

static int
connect_ends(struct conn *conn, const uint32_t psn[2])
{
	struct lab *lab = conn->lab;
	const struct lab_host_params *params = &lab->conf.host;
	uint64_t now_ns = net_now_ps(&lab->net) / PS_PER_NS;
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		struct conn_end *own = &conn->end[i], *peer = &conn->end[!i];
		const struct lab_host *to = &lab->hosts[peer->host];
		const struct local_peer desc = {
			.gid = to->ip,
			.qpn = peer->qp.qp->qpn,
			.psn = psn[!i],
			.own_psn = psn[i],
			.sgid_index = SGID_INDEX,
			.path_mtu = mtu_code(params->path_mtu_bytes),
			.timeout = (uint8_t)params->timeout,
			.nb_rd_atomic = (uint8_t)params->rd_atomic,
			.retry_cnt = (uint8_t)params->retry_cnt,
			.rnr_retry = (uint8_t)params->rnr_retry,
			.min_rnr_timer = (uint8_t)params->min_rnr_timer,
		};

		err = local_qp_connect(&own->qp, &desc, now_ns);
		neigh_set(lab->hosts[own->host].nic->neigh, &to->ip, 0, to->mac, now_ns);
	}
	/* What two ends agree on is there with the connection, like addresses. */
	if (!err && conn->end[0].qp.qp->framing == QP_PENDING)
		open_pair(conn->end[0].qp.qp, conn->end[1].qp.qp, now_ns);
	return err;
}

static int
open_conn(struct conn *conn, const struct flow_conf *flow)
{
	struct lab *lab = conn->lab;
	const struct lab_host_params *params = &lab->conf.host;
	uint64_t seed = lab->conf.seed ^ (uint64_t)conn->idx << 32, span = params->window_pkts;
	uint32_t psn[2];
	bool is_theirs;

	if (conn->verb == FLOW_READ)
		span = (uint64_t)params->rd_atomic * (flow->msg_bytes / params->path_mtu_bytes + 1);
	span = span < ARRIVED_MIN ? ARRIVED_MIN : span > ARRIVED_MAX ? ARRIVED_MAX : span;
	conn->arrived_mask = 2 * pow2_at_least(span) - 1;
	conn->arrived = calloc(conn->arrived_mask / 64 + 1, sizeof(uint64_t));
	conn->msg_mask = pow2_at_least(params->depth) - 1;
	conn->msgs = calloc(conn->msg_mask + 1, sizeof(*conn->msgs));
	conn->history = calloc(HISTORY_EVENTS, sizeof(*conn->history));
	if (!conn->arrived || !conn->msgs || !conn->history)
		return -ENOMEM;
	for (int i = 0; i < 2; i++) {
		psn[i] = (uint32_t)prng_splitmix(&seed) & 0xffffff;
		if (lab->conf.first_psn != LAB_PSN_RANDOM)
			psn[i] = lab->conf.first_psn;
		conn->end[i].conn = conn;
		if (make_end(&conn->end[i], &lab->hosts[i == 0 ? flow->src : flow->dst]) != 0)
			return -ENOMEM;
	}
	for (int i = 0; i < 2; i++)
		conn->stream[i].next_psn = conn->stream[i].una_psn = PSN_BIAS + psn[i];
	/* A plain READ's responses have PSNs of its requester. */
	is_theirs = conn->verb == FLOW_READ && lab->conf.engines.framing == FRAMING_WISH_ROCEV2;
	conn->data_next_psn = conn->rx_next_psn = PSN_BIAS + psn[is_theirs];
	if (connect_ends(conn, psn) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; conn->verb == FLOW_SEND && i < params->depth; i++)
		conn_post_recv(&conn->end[1]);
	local_ring(&conn->end[1].qp, net_now_ps(&lab->net) / PS_PER_NS);
	return 0;
}

static void
close_conn(struct conn *conn)
{
	struct lab *lab = conn->lab;

	for (int i = 0; i < 2; i++)
		if (conn->end[i].conn)
			close_end(&conn->end[i], &lab->hosts[conn->end[i].host]);
	for (uint32_t i = 0; conn->msgs && i <= conn->msg_mask; i++)
		free(conn->msgs[i].placed);
	free(conn->msgs);
	free(conn->arrived);
	free(conn->history);
	free(conn);
}

void
conns_destroy(struct lab *lab)
{
	for (struct conn *conn = lab->conns, *next; conn; conn = next) {
		next = conn->next;
		close_conn(conn);
	}
	lab->conns = NULL;
	free(lab->buckets);
	free(lab->ends);
}

/* ---- finding them ---- */

static uint32_t
bucket_of(const struct lab *lab, uint32_t workload, uint32_t src, uint32_t dst)
{
	uint64_t key = (uint64_t)workload << 48 ^ (uint64_t)src << 24 ^ dst;

	return (uint32_t)prng_splitmix(&key) & lab->bucket_mask;
}

static struct conn_bucket *
bucket_of_conn(const struct conn *conn)
{
	return &conn->lab->buckets[bucket_of(conn->lab, conn->workload, conn->end[0].host,
	                                     conn->end[1].host)];
}

void
conn_set_idle(struct conn *conn)
{
	list_add_tail(&bucket_of_conn(conn)->idle, &conn->idle);
}

void
conn_set_busy(struct conn *conn)
{
	list_del(&conn->idle);
}

static void
file(struct conn *conn)
{
	struct conn_bucket *bucket = bucket_of_conn(conn);

	conn->next_of_key = bucket->first;
	bucket->first = conn;
	list_init(&conn->idle);
	if (conn->first_flow == FLOW_NONE && !conn->has_failed)
		conn_set_idle(conn);
}

static int
grow_buckets(struct lab *lab)
{
	uint32_t nb = lab->buckets ? 2 * (lab->bucket_mask + 1) : 1024;
	struct conn_bucket *buckets;

	if (lab->buckets && lab->nb_conns <= lab->bucket_mask)
		return 0;
	buckets = calloc(nb, sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	for (uint32_t i = 0; i < nb; i++)
		list_init(&buckets[i].idle);
	free(lab->buckets);
	lab->buckets = buckets;
	lab->bucket_mask = nb - 1;
	for (struct conn *c = lab->conns; c; c = c->next)
		file(c);
	return 0;
}

static bool
suits(const struct conn *c, const struct flow_conf *flow)
{
	return !c->has_failed && c->workload == flow->workload && c->end[0].host == flow->src &&
	       c->end[1].host == flow->dst && c->verb == flow->verb;
}

struct conn *
conn_find(const struct lab *lab, const struct flow_conf *flow)
{
	const struct conn_bucket *bucket;
	struct conn *conn;

	if (!lab->buckets)
		return NULL;
	bucket = &lab->buckets[bucket_of(lab, flow->workload, flow->src, flow->dst)];
	if (flow->qp == FLOW_QP_FRESH) {
		for (struct list *l = bucket->idle.next; l != &bucket->idle; l = l->next) {
			conn = container_of(l, struct conn, idle);
			if (suits(conn, flow))
				return conn;
		}
		return NULL;
	}
	for (conn = bucket->first; conn; conn = conn->next_of_key)
		if (suits(conn, flow) && conn->qp == flow->qp)
			return conn;
	return NULL;
}

struct conn *
conn_make(struct lab *lab, const struct flow_conf *flow)
{
	struct conn *conn;

	if (grow_buckets(lab) != 0)
		return NULL;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	conn->lab = lab;
	conn->idx = lab->nb_conns;
	conn->workload = flow->workload;
	conn->qp = flow->qp;
	conn->verb = flow->verb;
	conn->first_flow = conn->last_flow = conn->posting_flow = FLOW_NONE;
	if (open_conn(conn, flow) != 0) {
		close_conn(conn);
		return NULL;
	}
	conn->next = lab->conns;
	lab->conns = conn;
	lab->nb_conns++;
	file(conn);
	return conn;
}
