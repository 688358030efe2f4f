/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events and cookies of completion channels at their limits: an application with all the objects
 * that it may have, each of which has something to say, reads slowly, late or never.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl.h"

#define NB_QPS 4096
/* More than a socket takes that nobody reads. */
#define NB_CQS 1024

static uint8_t nb_got[NB_QPS][2];

static bool
modify(struct app *app, uint32_t qpn, uint8_t state, uint32_t mask)
{
	struct reply reply;
	union ctl_msg msg = {
		.qp_attr = {.qpn = qpn,
	                    .mask = mask | SHM_QP_STATE,
	                    .attr = {.state = state, .port_num = 1, .en_sqd_notify = 1}},
	};

	return ctl_request(app->sock, CTL_MODIFY_QP, &msg, sizeof(msg.qp_attr), -1, &reply) == 0;
}

static bool
to_init(struct app *app, uint32_t qpn)
{
	return modify(app, qpn, SHM_QPS_INIT, SHM_QP_PKEY_INDEX | SHM_QP_PORT | SHM_QP_QKEY);
}

/* A QP whose queue is drained, and then one that its SRQ gives nothing more: two events. */
static bool
two_events(struct app *app, uint32_t qpn)
{
	return to_init(app, qpn) && modify(app, qpn, SHM_QPS_RTR, 0) &&
	       modify(app, qpn, SHM_QPS_RTS, SHM_QP_SQ_PSN) &&
	       modify(app, qpn, SHM_QPS_SQD, SHM_QP_EN_SQD_ASYNC_NOTIFY) &&
	       modify(app, qpn, SHM_QPS_ERR, 0);
}

/* A UD QP; 0 = refused. */
static uint32_t
new_qp(struct app *app, uint32_t pd, uint32_t cq, uint32_t srq, uint64_t cookie)
{
	struct reply reply;
	union ctl_msg msg = {
		.qp = {.type = SHM_QPT_UD,
	               .pd = pd,
	               .send_cq = cq,
	               .recv_cq = cq,
	               .srq = srq,
	               .cap = {.max_send_wr = 1, .max_send_sge = 1},
	               .cookie = cookie},
	};

	return ctl_request(app->sock, CTL_CREATE_QP, &msg, sizeof(msg.qp), -1, &reply) == 0
	               ? msg.qp.qpn
	               : 0;
}

/* So many QPs have had their events, which nobody has read. */
static uint32_t
eventful_qps(struct app *app, uint32_t nb)
{
	struct reply reply;
	uint32_t pd = app_pd(app), cq = app_cq(app, 1, 0), n;
	union ctl_msg msg = {.srq = {.pd = pd, .max_wr = 1, .max_sge = 1}};

	if (ctl_request(app->sock, CTL_CREATE_SRQ, &msg, sizeof(msg.srq), -1, &reply) != 0)
		return 0;
	for (n = 0; n < nb; n++) {
		uint32_t qpn = new_qp(app, pd, cq, msg.srq.handle, n);

		if (!qpn || !two_events(app, qpn))
			break;
	}
	return n;
}

/* Read until nothing comes for a second; the number of messages that are as they should be. */
static uint32_t
read_events(struct app *app)
{
	struct timeval second = {.tv_sec = 1};
	struct shm_event event;
	uint32_t nb = 0;

	memset(nb_got, 0, sizeof(nb_got));
	setsockopt(app->events_fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	while (recv(app->events_fd, &event, sizeof(event), 0) == sizeof(event)) {
		bool last = event.type == SHM_EVENT_QP_LAST_WQE_REACHED;

		if (event.cookie >= NB_QPS || (!last && event.type != SHM_EVENT_SQ_DRAINED) ||
		    nb_got[event.cookie][last]++)
			return 0;
		/* An object's events come in their order. */
		if (last && !nb_got[event.cookie][0])
			return 0;
		nb++;
		if (nb % 1000 == 0)
			usleep(50000);
	}
	return nb;
}

static void
a_late_and_slow_reader_gets_every_event_once(void)
{
	struct app app;
	uint32_t nb_qps, nb;

	app_open(&app, false);
	nb_qps = eventful_qps(&app, NB_QPS);
	verdict(nb_qps == NB_QPS, "%u QPs with two events each", nb_qps);
	nb = read_events(&app);
	verdict(nb == 2 * nb_qps, "%u events are read afterwards", nb);
	app_close(&app);
}

static void
who_never_reads_hurts_nobody(void)
{
	uint32_t nb_fds = daemon_fds(), nb_maps = daemon_maps();
	struct app app, other;

	app_open(&app, false);
	app_open(&other, false);
	eventful_qps(&app, NB_QPS);
	verdict(eventful_qps(&other, 1) == 1 && read_events(&other) == 2,
	        "an application that reads gets its events");
	app_close(&app);
	app_close(&other);
	verdict(daemon_settles(nb_fds, nb_maps), "the daemon forgets who never read");
}

/* Post a receive, and let it be flushed: the CQ, armed, gets its entry. */
static bool
one_completion(struct app *app, const struct ctl_qp *qp, const struct ctl_cq *cq)
{
	struct shm_wq *rq = (struct shm_wq *)(void *)(app->arena + qp->rq.offset);

	atomic_store(&((struct shm_cq *)(void *)(app->arena + cq->ring.offset))->armed,
	             SHM_ARM_ANY);
	atomic_store(&rq->ring.tail, 1);
	return to_init(app, qp->qpn) && modify(app, qp->qpn, SHM_QPS_ERR, 0);
}

static void
a_late_reader_of_a_channel_gets_the_cookie_of_every_cq(void)
{
	static bool got[NB_CQS];
	struct timeval second = {.tv_sec = 1};
	union ctl_msg msg = {0};
	uint32_t pd, channel, n, nb = 0;
	struct reply channel_reply, reply;
	uint64_t cookie;
	struct app app;

	app_open(&app, false);
	pd = app_pd(&app);
	ctl_request(app.sock, CTL_NEW_CHANNEL, &msg, sizeof(msg.hdr), -1, &channel_reply);
	channel = msg.handle.handle;
	for (n = 0; n < NB_CQS; n++) {
		union ctl_msg cq = {.cq = {.nb_cqe = 4, .channel = channel, .cookie = n}};

		if (ctl_request(app.sock, CTL_CREATE_CQ, &cq, sizeof(cq.cq), -1, &reply) != 0)
			break;
		msg = (union ctl_msg){.qp = {.type = SHM_QPT_UD,
		                             .pd = pd,
		                             .send_cq = cq.cq.handle,
		                             .recv_cq = cq.cq.handle,
		                             .cap = {0, 1, 0, 1, 0}}};
		if (ctl_request(app.sock, CTL_CREATE_QP, &msg, sizeof(msg.qp), -1, &reply) != 0 ||
		    !one_completion(&app, &msg.qp, &cq.cq))
			break;
	}
	verdict(n == NB_CQS, "%u CQs with an entry each", n);
	verdict(app_handle(&app, CTL_DESTROY_QP, msg.qp.qpn) == 0 &&
	                app_handle(&app, CTL_DESTROY_CQ, msg.qp.send_cq) == 0,
	        "the last of them ends unheard");
	setsockopt(channel_reply.fds[0], SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	while (recv(channel_reply.fds[0], &cookie, sizeof(cookie), 0) == sizeof(cookie)) {
		if (cookie >= NB_CQS || got[cookie])
			break;
		got[cookie] = true;
		nb++;
	}
	verdict(nb == NB_CQS - 1 && !got[NB_CQS - 1] && errno == EAGAIN,
	        "%u cookies are read afterwards", nb);
	close_fds(&channel_reply);
	app_close(&app);
}

int
main(void)
{
	daemon_begin();
	a_late_and_slow_reader_gets_every_event_once();
	who_never_reads_hurts_nobody();
	a_late_reader_of_a_channel_gets_the_cookie_of_every_cq();
	verdict(daemon_end(), "the daemon ends with 0 and removes its socket");
	return verdicts_end();
}
