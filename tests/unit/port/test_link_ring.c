/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link_conn.h"
#include "prng.h"

/* Both ends of one link, in one process; the memory is mapped twice. */
static struct link_conn *ends[2];
static uint8_t frame[LINK_FRAME_BYTES_MAX];

static void
make_ends(void)
{
	int fd = link_memory_create();

	cr_assert_geq(fd, 0);
	cr_assert_eq(link_memory_check(fd), 0);
	cr_assert_eq(link_conn_create(-1, fd, LINK_LISTENER, &ends[0]), 0);
	cr_assert_eq(link_conn_create(-1, fd, LINK_CALLER, &ends[1]), 0);
	close(fd);
	for (uint32_t i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)(i * 7 + i / 251);
}

static void
free_ends(void)
{
	link_conn_free(ends[0]);
	link_conn_free(ends[1]);
}

Test(link_ring, carries_frames_of_every_length_both_ways_across_its_end)
{
	uint64_t bytes = 0;

	make_ends();
	for (int way = 0; way < 2; way++) {
		struct link_writer *w = &ends[way]->tx;
		struct link_reader *r = &ends[!way]->rx;

		for (uint32_t len = 1; len <= LINK_FRAME_BYTES_MAX; len += len < 200 ? 1 : 37) {
			const uint8_t *got;
			uint32_t got_len;

			cr_assert_eq(link_reader_look(r), 0);
			link_put(w, frame, len);
			cr_assert_eq(link_reader_look(r), 0, "not seen before it is published");
			link_writer_publish(w);
			cr_assert_eq(link_reader_look(r), 1);
			got = link_take(r, &got_len);
			cr_assert_not_null(got);
			cr_assert_eq(got_len, len);
			cr_assert_arr_eq(got, frame, len);
			link_reader_publish(r);
			cr_assert_eq(link_writer_look(w), 0);
			cr_assert_eq(w->free_bytes, LINK_RING_BYTES);
			bytes += len;
		}
	}
	cr_expect_gt(bytes, 4 * LINK_RING_BYTES, "it wrapped");
	free_ends();
}

Test(link_ring, takes_as_many_frames_as_it_promises_and_has_room_when_they_are_read)
{
	static const uint32_t lens[] = {1, 60, 118, 119, 1500, 4158, 9234, LINK_FRAME_BYTES_MAX};
	struct link_writer *w;
	struct link_reader *r;

	make_ends();
	w = &ends[0]->tx;
	r = &ends[1]->rx;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint32_t room = link_writer_room(w, lens[i]), len;

		cr_expect_geq(room, 4, "%u bytes: %u", lens[i], room);
		for (uint32_t k = 0; k < room; k++)
			link_put(w, frame, lens[i]);
		cr_expect_eq(link_writer_room(w, lens[i]), 0, "%u bytes", lens[i]);
		link_writer_publish(w);
		cr_assert_eq(link_reader_look(r), (int)room);
		for (uint32_t k = 0; k < room; k++)
			cr_assert_not_null(link_take(r, &len));
		cr_assert_eq(link_writer_look(w), 0);
		cr_expect_eq(link_writer_room(w, lens[i]), 0, "what was taken may still be read");
		link_reader_publish(r);
		cr_assert_eq(link_writer_look(w), 0);
		cr_expect_eq(link_writer_room(w, lens[i]), room);
	}
	free_ends();
}

Test(link_ring, rings_once_and_only_who_sleeps)
{
	struct link_writer *w;
	struct link_reader *r;
	uint32_t len;

	make_ends();
	w = &ends[0]->tx;
	r = &ends[1]->rx;
	link_put(w, frame, 60);
	cr_expect_not(link_writer_publish(w), "the reader is awake");
	link_reader_want(r, true);
	cr_expect(link_writer_publish(w));
	cr_expect_not(link_writer_publish(w), "it was rung already");
	link_reader_want(r, true);
	link_reader_want(r, false);
	cr_expect_not(link_writer_publish(w), "it is awake again");

	for (int i = 0; i < 7; i++)
		link_put(w, frame, 60);
	link_writer_publish(w);
	link_writer_want(w, true);
	for (int i = 0; i < 8; i++) {
		cr_assert_not_null((link_reader_look(r), link_take(r, &len)));
		cr_expect_eq(link_reader_publish(r), i == 3, "half of 8 frames, at %d", i);
	}
	free_ends();
}

/* What a peer may write into the words of a ring, and what that does. */
Test(link_ring, a_peer_that_breaks_the_rules_is_found_out)
{
	static const struct {
		const char *what;
		uint32_t tail, head, len;
		bool look_fails, take_fails, writer_fails;
	} rows[] = {
		{"nothing is wrong", 3, 0, 60, false, false, false},
		{"all was read", 3, 3, 60, false, false, false},
		{"more frames than a ring has", LINK_RING_FRAMES + 1, 0, 60, true, false, false},
		{"a tail that went back", -1u, 0, 60, true, false, false},
		{"no length", 3, 0, 0, false, true, false},
		{"a length beyond the longest", 3, 0, LINK_FRAME_BYTES_MAX + 1, false, true, false},
		{"a negative length", 3, 0, -1u, false, true, false},
		{"read what was not written", 3, 4, 60, false, false, true},
		{"unread", 3, -1u, 60, false, false, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t len;

		make_ends();
		for (int k = 0; k < 3; k++)
			link_put(&ends[0]->tx, frame, 60);
		link_writer_publish(&ends[0]->tx);
		ends[0]->tx.shm->tail = rows[i].tail;
		ends[0]->tx.shm->head = rows[i].head;
		ends[0]->tx.shm->lens[0] = rows[i].len;
		cr_expect_eq(link_reader_look(&ends[1]->rx), rows[i].look_fails ? -EPROTO : 3, "%s",
		             rows[i].what);
		if (!rows[i].look_fails)
			cr_expect_eq(link_take(&ends[1]->rx, &len) == NULL, rows[i].take_fails,
			             "%s", rows[i].what);
		cr_expect_eq(link_writer_look(&ends[0]->tx), rows[i].writer_fails ? -EPROTO : 0,
		             "%s", rows[i].what);
		free_ends();
	}
}

/* All words at random, between any two steps: both ends stay within the ring. */
Test(link_ring, no_words_of_a_peer_lead_outside_the_ring)
{
	struct prng dice;
	uint32_t nb_broken = 0, nb_taken = 0;

	prng_seed(&dice, 7);
	for (int round = 0; round < 200; round++) {
		struct link_writer *w;
		struct link_reader *r;
		uint32_t len, sum = 0;

		make_ends();
		w = &ends[0]->tx;
		r = &ends[1]->rx;
		for (int step = 0; step < 500; step++) {
			/* Counts and flags; the first lengths lie behind them. */
			_Atomic uint32_t *words = (_Atomic uint32_t *)w->shm;
			uint32_t room = link_writer_room(w, 9000);
			const uint8_t *got;
			int n;

			for (uint32_t i = 0; i < room && i < 3; i++)
				link_put(w, frame, 1 + prng_below(&dice, 9000));
			link_writer_publish(w);
			if (prng_below(&dice, 16) == 0)
				words[prng_below(&dice, 40)] = prng_below(&dice, 100);
			if (prng_below(&dice, 4) == 0)
				w->shm->lens[prng_below(&dice, LINK_RING_FRAMES)] =
					prng_below(&dice, LINK_FRAME_BYTES_MAX + 2);
			n = link_reader_look(r);
			got = n > 0 ? link_take(r, &len) : NULL;
			for (uint32_t i = 0; got && i < len; i++)
				sum += got[i];
			nb_taken += got != NULL;
			link_reader_publish(r);
			if (n < 0 || (n > 0 && !got) || link_writer_look(w) < 0) {
				nb_broken++;
				break;
			}
		}
		cr_expect_neq(sum, 1);
		free_ends();
	}
	cr_expect_gt(nb_taken, 1000);
	cr_expect_gt(nb_broken, 100);
}

Test(link_ring, memory_that_a_peer_could_shorten_is_refused)
{
	int fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int good = link_memory_create();

	cr_assert_eq(ftruncate(fd, lseek(good, 0, SEEK_END)), 0);
	cr_expect_eq(link_memory_check(fd), -EPROTO, "not sealed");
	cr_expect_eq(link_memory_check(-1), -EPROTO, "nothing came along");
	close(fd);
	fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	cr_expect_eq(link_memory_check(fd), -EPROTO, "not memory");
	cr_expect_neq(ftruncate(good, 4096), 0);
	close(fd);
	close(good);
}
