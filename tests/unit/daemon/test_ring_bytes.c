/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
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
