/* SPDX-License-Identifier: BSD-3-Clause */
#include "int.h"

#include <assert.h>

#include "be.h"
#include "icrc.h"
#include "weft_hdr.h"

/* Byte 0 of an area: hops filled in, flags. */
#define INT_NB_SHIFT 4
#define INT_TBO 0x08
#define INT_OVF 0x04
#define INT_OFF_PATH 2
#define INT_OFF_HOPS 4

/* A hop from its highest bit down: rate code, time, bytes sent, queue. */
#define HOP_RATE_SHIFT 60
#define HOP_TIME_SHIFT 36
#define HOP_TIME_MASK 0xffffff
#define HOP_BYTES_SHIFT 16
#define HOP_BYTES_MASK 0xfffff
#define HOP_QUEUE_MASK 0xffff

/*
 * By code. The unit is 64 B at 100 Gb/s, in proportion and rounded up to a power of two: at least
 * 5.3 ms at line rate until the bytes come round. The queue is counted in units of four times that.
 */
static const struct {
	uint64_t rate_bps;
	uint8_t unit_shift; /* log2 of the unit in bytes */
} rates[INT_RATE_NB] = {
	[1] = {1000000000, 0},    [2] = {2500000000, 1},    [3] = {5000000000, 2},
	[4] = {10000000000, 3},   [5] = {25000000000, 4},   [6] = {40000000000, 5},
	[7] = {50000000000, 5},   [8] = {100000000000, 6},  [9] = {200000000000, 7},
	[10] = {400000000000, 8}, [11] = {800000000000, 9}, [12] = {1600000000000, 10},
};
#define QUEUE_SHIFT 2

uint8_t
int_rate_code(uint64_t rate_bps)
{
	for (uint8_t code = 1; code < INT_RATE_NB; code++)
		if (rates[code].rate_bps == rate_bps)
			return code;
	return 0;
}

static uint64_t
pack_hop(const struct int_stamp *stamp)
{
	uint32_t shift = rates[stamp->rate_code].unit_shift;
	uint64_t queue = stamp->queue_bytes >> (shift + QUEUE_SHIFT);

	return (uint64_t)stamp->rate_code << HOP_RATE_SHIFT |
	       (stamp->now_ns & HOP_TIME_MASK) << HOP_TIME_SHIFT |
	       (stamp->tx_bytes >> shift & HOP_BYTES_MASK) << HOP_BYTES_SHIFT |
	       (queue < HOP_QUEUE_MASK ? queue : HOP_QUEUE_MASK);
}

enum int_result
int_push(uint8_t *bth, uint32_t len, const struct int_stamp *stamp)
{
	uint8_t *area = bth + WEFT_OFF_INT;
	uint32_t nb_slots, nb_hops;

	assert(stamp->rate_code > 0 && stamp->rate_code < INT_RATE_NB);
	if (!weft_is_stream(bth) || len < WEFT_OFF_INT + ICRC_LEN)
		return INT_NO_AREA;
	nb_slots = weft_int_slots(bth);
	if (nb_slots == 0)
		return INT_NO_AREA;
	if (len < WEFT_OFF_INT + INT_LEN(nb_slots) + ICRC_LEN)
		return INT_LIES;
	nb_hops = area[0] >> INT_NB_SHIFT;
	if (nb_hops > nb_slots)
		return INT_LIES;

	put_be16(area + INT_OFF_PATH, get_be16(area + INT_OFF_PATH) ^ stamp->hop_id);
	if (stamp->tbo)
		area[0] |= INT_TBO;
	if (nb_hops == nb_slots) {
		area[0] |= INT_OVF;
		return INT_FULL;
	}
	put_be64(area + INT_LEN(nb_hops), pack_hop(stamp));
	area[0] = (uint8_t)(area[0] + (1 << INT_NB_SHIFT));
	return INT_WRITTEN;
}

enum int_read_result
int_read(const uint8_t *area, uint32_t nb_slots, struct int_stack *stack)
{
	uint32_t nb_hops = area[0] >> INT_NB_SHIFT;

	assert(nb_slots <= INT_SLOTS_MAX);
	if (nb_hops > nb_slots)
		return INT_READ_LIES;
	*stack = (struct int_stack){
		.nb_hops = nb_hops,
		.path_id = get_be16(area + INT_OFF_PATH),
		.tbo = area[0] & INT_TBO,
		.overflow = area[0] & INT_OVF,
	};
	for (uint32_t i = 0; i < nb_hops; i++) {
		uint64_t word = get_be64(area + INT_LEN(i));
		uint32_t code = (uint32_t)(word >> HOP_RATE_SHIFT);
		uint32_t shift;

		if (code == 0 || code >= INT_RATE_NB)
			return INT_READ_RATE;
		shift = rates[code].unit_shift;
		stack->hops[i] = (struct int_hop){
			.rate_bps = rates[code].rate_bps,
			.tx_bytes = (uint32_t)(word >> HOP_BYTES_SHIFT & HOP_BYTES_MASK) << shift,
			.tx_wrap_bytes = (HOP_BYTES_MASK + UINT32_C(1)) << shift,
			.ts_ns = (uint32_t)(word >> HOP_TIME_SHIFT & HOP_TIME_MASK),
			.queue_bytes = (uint32_t)(word & HOP_QUEUE_MASK) << (shift + QUEUE_SHIFT),
		};
	}
	return INT_READ_OK;
}
