/* SPDX-License-Identifier: BSD-3-Clause */
#include "limit.h"

#include <assert.h>
#include <string.h>

#include "icrc.h"
#include "pkt.h"
#include "timing.h"

#define WORKING_SET (512 * 1024)
#define BATCH 32
/* Where the payload of a packet without extended headers begins, IPv4. */
#define HDR_LEN 54
#define RUN_NS 20000000

/* What a run works on: nb places each for source, frame and destination. */
struct area {
	uint8_t *base;
	uint32_t payload_len, frame_len, nb;
};

static uint32_t
batch(const struct area *a, uint32_t first)
{
	uint8_t *frames = a->base + (size_t)a->nb * a->payload_len + PKT_DATA_SHIFT;
	uint8_t *dst = frames - PKT_DATA_SHIFT + (size_t)a->nb * a->frame_len;
	uint32_t differ = 0, crc[BATCH];

	for (uint32_t i = 0; i < BATCH; i++) {
		uint32_t at = (first + i) % a->nb;

		crc[i] = icrc_copy(ICRC_INIT, frames + (size_t)at * a->frame_len + HDR_LEN,
		                   a->base + (size_t)at * a->payload_len, a->payload_len);
	}
	for (uint32_t i = 0; i < BATCH; i++) {
		uint32_t at = (first + i) % a->nb;
		uint8_t *payload = frames + (size_t)at * a->frame_len + HDR_LEN;

		differ |= crc[i] ^ icrc_update(ICRC_INIT, payload, a->payload_len);
		memcpy(dst + (size_t)at * a->payload_len, payload, a->payload_len);
	}
	return differ;
}

static double
run(const struct area *a)
{
	uint64_t start = timing_now_ns(), now;
	uint32_t first = 0, differ = 0;
	uint64_t nb_pkts = 0;

	do {
		for (uint32_t i = 0; i < 64; i++) {
			differ |= batch(a, first);
			first = (first + BATCH) % a->nb;
		}
		nb_pkts += 64 * BATCH;
		now = timing_now_ns();
	} while (now - start < RUN_NS);
	assert(differ == 0);
	return (double)(now - start) / (double)nb_pkts;
}

double
limit_ns(uint32_t payload_len)
{
	struct area a = {.payload_len = payload_len};
	double ns[TIMING_RUNS];

	assert(payload_len >= 64 && payload_len <= 4096);
	a.frame_len = (PKT_DATA_SHIFT + HDR_LEN + payload_len + ICRC_LEN + 63) / 64 * 64;
	a.nb = WORKING_SET / (2 * payload_len + a.frame_len);
	a.base = aligned_alloc(4096, WORKING_SET);
	assert(a.base);
	memset(a.base, 0x5a, WORKING_SET);
	for (uint32_t i = 0; i < TIMING_RUNS; i++)
		ns[i] = run(&a);
	free(a.base);
	return timing_median(ns);
}
