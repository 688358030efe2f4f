/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "lab_impl.h"

/* What the applications of a connection do: work requests, and their completions. */

/* ---- posting ---- */

void
conn_post_recv(struct conn_end *e)
{
	const struct shm_sge sge = {
		.addr = CONN_BASE + e->nb_recvs_posted * CONN_STRIDE,
		.length = (uint32_t)CONN_STRIDE,
		.lkey = e->mr->key,
	};

	local_put_recv(&e->qp, e->nb_recvs_posted, &sge);
	e->nb_recvs_posted++;
}

static void
put_request(struct conn *conn, uint32_t bytes)
{
	static const uint8_t ops[FLOW_NB_VERBS] = {
		[FLOW_WRITE] = SHM_WR_WRITE,
		[FLOW_SEND] = SHM_WR_SEND,
		[FLOW_READ] = SHM_WR_READ,
	};
	struct conn_end *own = conn_requester(conn);
	const struct conn_end *peer = &conn->end[own == &conn->end[0]];
	uint64_t va = CONN_BASE + conn->nb_posted * CONN_STRIDE;
	const struct shm_send_wqe wqe = {
		.wr_id = conn->nb_posted,
		.op = ops[conn->verb],
		.flags = SHM_SEND_SIGNALED,
		.nb_sge = 1,
		.remote_addr = va,
		.rkey = peer->mr->key,
	};
	const struct shm_sge sge = {.addr = va, .length = bytes, .lkey = own->mr->key};

	local_put_send(&own->qp, &wqe, &sge);
}

static bool
prepare(struct conn *conn, struct conn_msg *m, uint32_t bytes)
{
	uint32_t nb_pkts = (bytes - 1) / conn->lab->conf.host.path_mtu_bytes + 1;

	*m = (struct conn_msg){.flow = conn->posting_flow, .bytes = bytes};
	if (nb_pkts > 64)
		m->placed = calloc((nb_pkts + 63) / 64, sizeof(uint64_t));
	return nb_pkts <= 64 || m->placed;
}

static bool
post_next(struct conn *conn)
{
	struct lab *lab = conn->lab;
	struct flow *f = &lab->flows[conn->posting_flow];
	uint64_t left = f->conf.bytes - conn->posted_bytes;
	uint32_t bytes = left < f->conf.msg_bytes ? (uint32_t)left : f->conf.msg_bytes;
	struct conn_msg *m = conn_msg_at(conn, conn->nb_posted);

	if (!prepare(conn, m, bytes)) {
		lab_out_of_memory(lab);
		return false;
	}
	m->is_last = bytes == left;
	put_request(conn, bytes);
	watch_note(conn, HISTORY_POST, conn_requester(conn)->host, (uint32_t)conn->nb_posted, 0,
	           net_now_ps(&lab->net));
	conn->nb_posted++;
	conn->posted_bytes += bytes;
	if (m->is_last) {
		conn->posting_flow = lab->flow_links[conn->posting_flow].next;
		conn->posted_bytes = 0;
	}
	return true;
}

void
conn_pump(struct conn *conn)
{
	struct lab *lab = conn->lab;
	struct conn_end *e = conn_requester(conn);
	uint64_t before = conn->nb_posted;

	while (!conn->has_failed && conn->posting_flow != FLOW_NONE &&
	       conn->nb_posted - conn->nb_completed < lab->conf.host.depth && post_next(conn))
		;
	if (conn->nb_posted == before)
		return;
	local_ring(&e->qp, net_now_ps(&lab->net) / PS_PER_NS);
	net_wake(&lab->net, e->host);
}

/* ---- completions ---- */

/* The flow's last message: it is done, and the connection has the next. */
static void
end_first_flow(struct conn *conn, enum flow_status status, uint64_t now_ps)
{
	uint32_t flow = conn->first_flow;

	conn->first_flow = conn->lab->flow_links[flow].next;
	if (conn->first_flow == FLOW_NONE) {
		conn->last_flow = FLOW_NONE;
		if (!conn->has_failed)
			conn_set_idle(conn);
	}
	flow_ended(conn->lab, flow, status, conn->why, now_ps);
}

/* The first failure tells why; the rest is flushed, and what was not posted never is. */
static void
fail(struct conn *conn, const struct shm_cqe *cqe)
{
	struct lab *lab = conn->lab;

	if (conn->has_failed)
		return;
	conn->has_failed = true;
	conn->why = (uint8_t)cqe->vendor_err;
	lab->hosts[conn_requester(conn)->host].result->nb_failed_qps++;
}

static void
check_completed(struct conn *conn, const struct conn_msg *m, const struct shm_cqe *cqe)
{
	if (cqe->wr_id != conn->nb_completed || conn->nb_completed == conn->nb_posted)
		watch_violated(conn->lab, conn, "each WQE completes once and in order",
		               "work request %lu completed where %lu of %lu was due",
		               (unsigned long)cqe->wr_id, (unsigned long)conn->nb_completed,
		               (unsigned long)conn->nb_posted);
	else if (cqe->status == SHM_WC_SUCCESS && m->placed_bytes != m->bytes)
		watch_violated(conn->lab, conn, "what completes has arrived",
		               "work request %lu completed with %u of %u bytes placed",
		               (unsigned long)cqe->wr_id, m->placed_bytes, m->bytes);
	else if (cqe->status == SHM_WC_SUCCESS && conn->has_failed)
		watch_violated(conn->lab, conn, "each WQE completes once and in order",
		               "work request %lu succeeded behind one that failed",
		               (unsigned long)cqe->wr_id);
}

static void
on_sent(struct conn *conn, const struct shm_cqe *cqe, uint64_t now_ps)
{
	struct conn_msg *m = conn_msg_at(conn, conn->nb_completed);
	bool was_last = m->is_last;

	watch_note(conn, HISTORY_COMPLETE, conn_requester(conn)->host, (uint32_t)cqe->wr_id,
	           cqe->status, now_ps);
	check_completed(conn, m, cqe);
	if (conn->lab->violation.rule)
		return;
	if (cqe->status == SHM_WC_SUCCESS) {
		free(m->placed);
		m->placed = NULL;
		conn->nb_good++;
	} else { /* what of it is on its way may still be placed */
		fail(conn, cqe);
	}
	conn->nb_completed++;
	if (!conn->has_failed && was_last)
		end_first_flow(conn, FLOW_DONE, now_ps);
	while (conn->has_failed && conn->nb_completed == conn->nb_posted &&
	       conn->first_flow != FLOW_NONE)
		end_first_flow(conn, FLOW_FAILED, now_ps);
}

static void
on_received(struct conn_end *e, const struct shm_cqe *cqe, uint64_t now_ps)
{
	struct conn *conn = e->conn;
	const struct conn_msg *m = conn_msg_at(conn, e->nb_recvs_done);

	watch_note(conn, HISTORY_RECV, e->host, (uint32_t)cqe->wr_id, cqe->status, now_ps);
	if (cqe->wr_id != e->nb_recvs_done)
		watch_violated(conn->lab, conn, "each WQE completes once and in order",
		               "receive %lu completed where %lu was due", (unsigned long)cqe->wr_id,
		               (unsigned long)e->nb_recvs_done);
	else if (cqe->status == SHM_WC_SUCCESS && e->nb_recvs_done >= conn->nb_posted)
		watch_violated(conn->lab, conn, "what completes was sent",
		               "receive %lu completed, and %lu messages were posted",
		               (unsigned long)cqe->wr_id, (unsigned long)conn->nb_posted);
	else if (cqe->status == SHM_WC_SUCCESS &&
	         (cqe->byte_len != m->bytes || m->placed_bytes != m->bytes))
		watch_violated(conn->lab, conn, "what completes has arrived",
		               "receive %lu completed with %u bytes, %u placed, of %u",
		               (unsigned long)cqe->wr_id, cqe->byte_len, m->placed_bytes, m->bytes);
	e->nb_recvs_done++;
	if (cqe->status == SHM_WC_SUCCESS)
		conn_post_recv(e);
}

void
conn_poll(struct conn_end *e, uint64_t now_ps)
{
	struct conn *conn = e->conn;
	uint64_t recvs_before = e->nb_recvs_posted;
	struct shm_cqe cqe;

	local_arm(&e->qp.cq);
	while (!conn->lab->violation.rule && local_poll(&e->qp.cq, &cqe)) {
		if (cqe.op & SHM_WC_RECV)
			on_received(e, &cqe, now_ps);
		else
			on_sent(conn, &cqe, now_ps);
	}
	if (e->nb_recvs_posted != recvs_before)
		local_ring(&e->qp, now_ps / PS_PER_NS);
	if (e == conn_requester(conn))
		conn_pump(conn);
}
