/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "ring_bytes.h"

Test(ring_bytes, records_come_out_as_they_went_in)
{
	struct ring_bytes ring;
	uint8_t body[64], got[64];
	uint32_t head, put = 0, taken = 0;

	cr_assert(ring_bytes_init(&ring, 256));
	cr_expect_not(ring_bytes_get(&ring, &head, sizeof(head), got, sizeof(got)));
	/* Lengths 0 to 63, so that each part of a record wraps around now and then. */
	while (taken < 2000) {
		memset(body, (int)put, sizeof(body));
		if (ring_bytes_put(&ring, &put, sizeof(put), body, put % 64)) {
			put++;
			continue;
		}
		cr_assert_lt(taken, put, "a full ring holds something");
		cr_assert(ring_bytes_get(&ring, &head, sizeof(head), got, sizeof(got)));
		cr_assert_eq(head, taken);
		memset(body, (int)taken, sizeof(body));
		cr_assert_arr_eq(got, body, taken % 64);
		taken++;
	}
	ring_bytes_fini(&ring);
}

Test(ring_bytes, what_does_not_fit_changes_nothing)
{
	struct ring_bytes ring;
	uint8_t body[200] = {0}, got[200];
	uint32_t head = 7;

	cr_assert(ring_bytes_init(&ring, 128));
	cr_expect_not(ring_bytes_put(&ring, &head, sizeof(head), body, 121), "one byte too long");
	cr_expect(ring_bytes_put(&ring, &head, sizeof(head), body, 120), "exactly full");
	cr_expect_not(ring_bytes_put(&ring, &head, sizeof(head), body, 0));
	cr_expect(ring_bytes_get(&ring, &head, sizeof(head), got, sizeof(got)));
	cr_expect_not(ring_bytes_get(&ring, &head, sizeof(head), got, sizeof(got)));
	ring_bytes_fini(&ring);
}

enum { NB = 100000 };
static struct ring_bytes shared;
static _Atomic uint32_t nb_refused;

static void *
put_all(void *arg)
{
	uint8_t body[100];

	(void)arg;
	for (uint32_t i = 0; i < NB; i++) {
		memset(body, (int)i, sizeof(body));
		while (!ring_bytes_put(&shared, &i, sizeof(i), body, i % 100)) {
			nb_refused++;
			sched_yield();
		}
	}
	return NULL;
}

Test(ring_bytes, two_threads_agree)
{
	uint8_t got[100];
	pthread_t thread;
	uint32_t i = 0, head = 0;

	cr_assert(ring_bytes_init(&shared, 1024));
	cr_assert_eq(pthread_create(&thread, NULL, put_all, NULL), 0);
	while (i < NB) {
		if (!ring_bytes_get(&shared, &head, sizeof(head), got, sizeof(got))) {
			sched_yield();
			continue;
		}
		cr_assert_eq(head, i);
		if (i % 100)
			cr_assert_eq(got[i % 100 - 1], (uint8_t)i);
		i++;
	}
	pthread_join(thread, NULL);
	ring_bytes_fini(&shared);
}
