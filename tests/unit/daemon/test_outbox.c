/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi.h"
#include "outbox.h"

/* Objects and kinds of events that one application can have: QPs are the most. */
#define NB_MARKS WEFT_MAX_QP
static const uint8_t types[] = {
	SHM_EVENT_COMM_EST,   SHM_EVENT_SQ_DRAINED, SHM_EVENT_QP_ACCESS_ERR,
	SHM_EVENT_QP_REQ_ERR, SHM_EVENT_QP_FATAL,   SHM_EVENT_QP_LAST_WQE_REACHED,
};
#define NB_TYPES (sizeof(types) / sizeof(types[0]))

static struct outbox_mark marks[NB_MARKS];

static int
open_box(struct outbox *box, enum outbox_form form)
{
	int peer;

	cr_assert_eq(outbox_open(box, form, &peer), 0);
	for (uint32_t i = 0; i < NB_MARKS; i++)
		outbox_mark_init(&marks[i], box, i);
	return peer;
}

/* The application takes one message; false if there is none. */
static bool
take(int fd, void *msg, size_t size)
{
	return recv(fd, msg, size, MSG_DONTWAIT) == (ssize_t)size;
}

/* Send the cookies 0, 1, ... until one waits; which one. */
static uint32_t
fill(void)
{
	uint32_t i = 0;

	while (outbox_send(&marks[i], 0))
		cr_assert_lt(++i, NB_MARKS);
	return i;
}

Test(outbox, what_finds_no_room_is_sent_later_in_order_and_once)
{
	struct outbox box;
	int peer = open_box(&box, OUTBOX_COOKIES);
	uint32_t waits = fill(), last = waits + 100;
	uint64_t msg, want = 0;

	cr_expect_gt(waits, 10);
	for (uint32_t i = waits; i < last; i++) {
		cr_expect_not(outbox_send(&marks[i], 0));
		cr_expect_not(outbox_send(&marks[i], 0), "it waits already");
	}
	cr_expect_not(outbox_flush(&box), "still no room");
	while (want < last) {
		while (take(peer, &msg, sizeof(msg)))
			cr_assert_eq(msg, want++);
		outbox_flush(&box);
	}
	cr_expect_not(take(peer, &msg, sizeof(msg)), "nothing twice");
	cr_expect(outbox_flush(&box));
	cr_expect(outbox_send(&marks[0], 0), "as in the beginning");
	outbox_close(&box);
	cr_expect_eq(recv(peer, &msg, 8, 0), 8);
	cr_expect_eq(recv(peer, &msg, 8, 0), 0, "the end is told");
	close(peer);
}

Test(outbox, nothing_is_lost_if_all_objects_have_all_events_and_the_reader_is_slow)
{
	static uint8_t nb_got[NB_MARKS];
	struct outbox box;
	int peer = open_box(&box, OUTBOX_EVENTS);
	struct shm_event event;
	uint32_t nb = 0;

	/* Nobody reads for three rounds of everything. */
	for (int round = 0; round < 3; round++) {
		for (size_t t = 0; t < NB_TYPES; t++) {
			for (uint32_t i = 0; i < NB_MARKS; i++)
				nb += outbox_send(&marks[i], types[t]);
		}
	}
	/* What the socket took were the first events of the first objects. */
	cr_assert_gt(nb, 10);
	cr_assert_lt(nb, NB_MARKS);
	for (uint32_t i = 0; i < nb; i++) {
		cr_assert(take(peer, &event, sizeof(event)));
		cr_assert_eq(event.cookie, i);
		cr_assert_eq(event.type, types[0]);
	}
	/* Their rest, and all of the others, came once each, an object's in their order. (The first
	 * type of the first objects was said again while others waited, and so comes again, last.)
	 */
	for (bool all = false; !all;) {
		all = outbox_flush(&box);
		while (take(peer, &event, sizeof(event))) {
			uint32_t at = nb_got[event.cookie]++;

			cr_assert_eq(event.type, types[(at + (event.cookie < nb)) % NB_TYPES]);
		}
	}
	for (uint32_t i = 0; i < NB_MARKS; i++)
		cr_expect_eq(nb_got[i], NB_TYPES, "object %u: %u", i, nb_got[i]);
	outbox_close(&box);
	close(peer);
}

Test(outbox, a_flush_sends_no_more_than_its_limit)
{
	struct outbox box;
	int peer = open_box(&box, OUTBOX_COOKIES);
	uint32_t waits = fill(), nb = 0;
	uint64_t msg;

	for (uint32_t i = waits; i < waits + 2 * OUTBOX_FLUSH_MAX; i++)
		cr_expect_not(outbox_send(&marks[i], 0));
	while (take(peer, &msg, sizeof(msg)))
		;
	cr_expect_not(outbox_flush(&box), "half of it");
	while (take(peer, &msg, sizeof(msg)))
		nb++;
	cr_expect_eq(nb, OUTBOX_FLUSH_MAX);
	cr_expect(outbox_flush(&box), "the other half");
	outbox_close(&box);
	close(peer);
}

Test(outbox, an_object_that_ends_says_nothing_more)
{
	struct outbox box;
	int peer = open_box(&box, OUTBOX_COOKIES);
	uint32_t waits = fill();
	uint64_t msg;

	for (uint32_t i = waits; i < waits + 3; i++)
		cr_expect_not(outbox_send(&marks[i], 0));
	outbox_forget(&marks[waits + 1]);
	outbox_forget(&marks[waits + 1]);
	outbox_forget(&marks[NB_MARKS - 1]);
	while (take(peer, &msg, sizeof(msg)))
		;
	cr_expect(outbox_flush(&box));
	cr_expect(take(peer, &msg, sizeof(msg)) && msg == waits);
	cr_expect(take(peer, &msg, sizeof(msg)) && msg == waits + 2);
	cr_expect_not(take(peer, &msg, sizeof(msg)));
	outbox_close(&box);
	close(peer);
}

Test(outbox, flags_that_the_application_changes_do_not_block_us, .timeout = 10)
{
	struct outbox box;
	int peer = open_box(&box, OUTBOX_COOKIES);

	/* Would hang if the own end had to be non-blocking and were not. */
	cr_expect_lt(fill(), NB_MARKS);
	cr_expect_not(outbox_flush(&box));
	outbox_close(&box);
	close(peer);
}

Test(outbox, messages_to_nobody_fall_into_nowhere)
{
	struct outbox box;
	int peer = open_box(&box, OUTBOX_COOKIES);

	fill();
	close(peer);
	cr_expect(outbox_flush(&box), "nothing waits for a reader that will never come");
	cr_expect(outbox_send(&marks[0], 0));
	outbox_close(&box);
}

Test(outbox, what_has_become_untrue_is_taken_back_while_it_waits)
{
	struct outbox box;
	int peer = open_box(&box, OUTBOX_EVENTS);
	static const uint32_t want[] = {SHM_EVENT_GID_CHANGE, SHM_EVENT_PORT_ACTIVE};
	struct shm_event event;
	struct outbox_mark *mark;
	uint32_t waits = fill();

	mark = &marks[waits + 1];
	outbox_cancel(mark, SHM_EVENT_PORT_ERR); /* nothing waits */
	outbox_send(mark, SHM_EVENT_PORT_ERR);
	outbox_cancel(mark, SHM_EVENT_PORT_ERR);
	outbox_send(mark, SHM_EVENT_PORT_ERR);
	outbox_send(mark, SHM_EVENT_GID_CHANGE);
	outbox_cancel(mark, SHM_EVENT_PORT_ERR);
	outbox_send(mark, SHM_EVENT_PORT_ACTIVE);
	for (uint32_t i = 0; i < waits; i++)
		cr_assert(take(peer, &event, sizeof(event)));
	while (!outbox_flush(&box))
		;
	cr_assert(take(peer, &event, sizeof(event)), "that of the one in front");
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert(take(peer, &event, sizeof(event)));
		cr_expect_eq(event.type, want[i]);
	}
	cr_expect_not(take(peer, &event, sizeof(event)));
	outbox_close(&box);
	close(peer);
}
