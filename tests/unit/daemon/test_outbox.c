/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "outbox.h"

/* The application takes one message; false if there is none. */
static bool
take(int fd, uint64_t *msg)
{
	return recv(fd, msg, sizeof(*msg), MSG_DONTWAIT) == sizeof(*msg);
}

/* Send 1, 2, ... until one waits. */
static uint64_t
fill(struct outbox *box)
{
	uint64_t i = 1;

	while (outbox_send(box, &i))
		i++;
	return i;
}

Test(outbox, what_finds_no_room_is_sent_later_in_order_and_once)
{
	struct outbox box;
	uint64_t waits, msg, want = 1;
	int peer;

	cr_assert_eq(outbox_open(&box, sizeof(msg), &peer), 0);
	waits = fill(&box);
	cr_expect_gt(waits, 10);
	for (uint64_t i = waits; i < waits + 100; i++) {
		cr_expect_not(outbox_send(&box, &i));
		cr_expect_not(outbox_send(&box, &i), "it waits already");
	}
	cr_expect_eq(box.nb_waiting, 100);
	cr_expect_not(outbox_flush(&box), "still no room");
	while (want < waits + 100) {
		while (take(peer, &msg))
			cr_assert_eq(msg, want++);
		outbox_flush(&box);
	}
	cr_expect_eq(box.nb_waiting, 0);
	cr_expect_eq(box.nb_lost, 0);
	cr_expect(outbox_send(&box, &want), "as in the beginning");
	outbox_close(&box);
	cr_expect_eq(recv(peer, &msg, 8, 0), 8);
	cr_expect_eq(recv(peer, &msg, 8, 0), 0, "the end is told");
	close(peer);
}

Test(outbox, flags_that_the_application_changes_do_not_block_us)
{
	struct outbox box;
	uint64_t msg = 1;
	int peer;

	cr_assert_eq(outbox_open(&box, sizeof(msg), &peer), 0);
	/* Would hang if the own end had to be non-blocking and were not. */
	fill(&box);
	cr_expect_gt(box.nb_waiting, 0);
	outbox_close(&box);
	close(peer);
}

Test(outbox, messages_to_nobody_fall_into_nowhere)
{
	struct outbox box;
	uint64_t msg = 1;
	int peer;

	cr_assert_eq(outbox_open(&box, sizeof(msg), &peer), 0);
	fill(&box);
	close(peer);
	cr_expect(outbox_flush(&box), "nothing waits for a reader that will never come");
	cr_expect(outbox_send(&box, &msg));
	outbox_close(&box);
}

Test(outbox, memory_for_what_waits_is_bounded)
{
	struct outbox box;
	uint64_t msg;
	int peer;

	cr_assert_eq(outbox_open(&box, sizeof(msg), &peer), 0);
	msg = fill(&box);
	box.room = OUTBOX_WAIT_MAX;
	box.nb_waiting = OUTBOX_WAIT_MAX;
	box.waiting = realloc(box.waiting, sizeof(*box.waiting) * OUTBOX_WAIT_MAX);
	memset(box.waiting, 0, sizeof(*box.waiting) * OUTBOX_WAIT_MAX);
	cr_expect_not(outbox_send(&box, &msg));
	cr_expect_eq(box.nb_lost, 1);
	outbox_close(&box);
	close(peer);
}
