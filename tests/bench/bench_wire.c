/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ns per packet of each step between bytes and struct wire_pkt, over batches of 32 packets in
 * cache. A step's figure is its share of a long run, so that steps which overlap in the core may do
 * so.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "icrc_impl.h"
#include "int.h"
#include "limit.h"
#include "timing.h"
#include "trim.h"
#include "weft_examples.h"
#include "weft_hdr.h"
#include "wire.h"

#define BATCH 32
#define FRAME_ROOM 4352
#define RUN_NS 20000000

static uint8_t frames[BATCH][FRAME_ROOM] __attribute__((aligned(64)));
static uint8_t payload[4096] __attribute__((aligned(64)));
static struct wire_pkt pkts[BATCH];
static struct wire_path path;
static uint32_t frame_len[BATCH];
static volatile uint32_t sink;

struct row {
	bool ipv6;
	uint8_t opcode;
	uint32_t payload_len;
	struct wire_weft weft; /* optional parts */
	const char *note;
};

static void
prepare(const struct row *row)
{
	bool is_whole = opcode_table[row->opcode].flags & OPF_ONLY;
	uint32_t payload_len = row->payload_len;
	struct wire_addr addr = {
		.dst.b = {[10] = 0xff, 0xff, 10, 0, 0, 1},
		.src.b = {[10] = 0xff, 0xff, 10, 0, 0, 2},
		.ttl = 64,
	};

	if (row->ipv6)
		addr.dst.b[0] = addr.src.b[0] = 0xfd;
	wire_path_init(&path, &addr);
	for (uint32_t i = 0; i < BATCH; i++) {
		uint32_t len, crc;

		pkts[i] = (struct wire_pkt){
			.opcode = row->opcode,
			.pkey = PKEY_DEFAULT,
			.dest_qpn = 17 + i,
			.psn = i,
			.syndrome = AETH_ACK,
			.dma_len = is_whole ? payload_len : 1 << 20,
			.payload_len = payload_len,
			.weft = row->weft,
		};
		len = wire_build(frames[i], &path, &pkts[i], 0xc000, 2, &crc);
		crc = icrc_copy(crc, frames[i] + len, payload, payload_len);
		len += payload_len;
		frame_len[i] = len + wire_end(frames[i] + len, payload_len, crc);
	}
}

static void
step_parse(void)
{
	uint32_t x = 0;

	for (uint32_t i = 0; i < BATCH; i++) {
		struct wire_pkt w;
		enum wire_bad bad;

		x += wire_parse(frames[i], frame_len[i], &w, &bad) == WIRE_ROCE;
		x += w.psn;
	}
	sink = x;
}

static void
step_check(void)
{
	uint32_t nb_ok = 0;

	for (uint32_t i = 0; i < BATCH; i++) {
		struct wire_pkt w;
		enum wire_bad bad;

		wire_parse(frames[i], frame_len[i], &w, &bad);
		nb_ok += wire_icrc_ok(frames[i], &w);
	}
	assert(nb_ok == BATCH);
}

static void
step_build(void)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		uint32_t crc;

		wire_build(frames[i], &path, &pkts[i], 0xc000, 2, &crc);
		sink = crc;
	}
}

static void
step_seal(void)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		uint32_t crc;
		uint32_t len = wire_build(frames[i], &path, &pkts[i], 0xc000, 2, &crc);

		if (pkts[i].payload_len)
			crc = icrc_copy(crc, frames[i] + len, payload, pkts[i].payload_len);
		wire_end(frames[i] + len + pkts[i].payload_len, pkts[i].payload_len, crc);
	}
}

/* A switch's part: a batch of one example, found, and put back by 64 bytes of the original. */
static const struct weft_example *example;

static void
prepare_example(const char *id)
{
	example = weft_example(id);
	for (uint32_t i = 0; i < BATCH; i++) {
		memcpy(frames[i], example->frame, example->len);
		frame_len[i] = example->len;
	}
}

static void
step_find(void)
{
	uint32_t x = 0;

	for (uint32_t i = 0; i < BATCH; i++) {
		struct weft_at at;

		x += weft_find(frames[i], frame_len[i], ETH_LEN, false, &at);
	}
	assert(x == BATCH);
}

static void
step_push(void)
{
	struct int_stamp stamp = {.tx_bytes = 1, .queue_bytes = 1000, .rate_code = 8};

	for (uint32_t i = 0; i < BATCH; i++) {
		uint8_t *bth = frames[i] + 42;

		bth[WEFT_OFF_INT] = 0;
		stamp.now_ns += 100;
		stamp.tx_bytes += 1000;
		sink = int_push(bth, frame_len[i] - 42, &stamp);
	}
}

static void
step_trim(void)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		memcpy(frames[i], example->frame, 64);
		assert(wire_may_trim(frames[i], frame_len[i], ETH_LEN, false));
		sink = wire_trim(frames[i], ETH_LEN, false);
	}
}

static void
bench_weft(void)
{
	printf("\nof a switch, weft framing:");
	prepare_example("21");
	printf(" find %.1f", timing_step(step_find, BATCH, RUN_NS));
	printf(", INT hop %.1f", timing_step(step_push, BATCH, RUN_NS));
	prepare_example("2");
	printf(", find and trim %.1f\n", timing_step(step_trim, BATCH, RUN_NS));
}

static const struct icrc_ops *ops;
static uint32_t crc_len;

/* Each call waits for the one before, as nothing else does: latency and not throughput. */
static void
step_crc(void)
{
	uint32_t crc = ICRC_INIT;

	for (uint32_t i = 0; i < BATCH; i++)
		crc = ops->update(crc, payload, crc_len);
	sink = crc;
}

static void
step_copy(void)
{
	uint32_t crc = ICRC_INIT;

	for (uint32_t i = 0; i < BATCH; i++)
		crc = ops->copy(crc, frames[0] + 54, payload, crc_len);
	sink = crc;
}

static void
bench_icrc(void)
{
	static const uint32_t lens[] = {16, 64, 256, 1024, 4096};

	printf("\n%-9s %6s  %14s  %14s\n", "ICRC", "bytes", "CRC ns (GB/s)", "copy+CRC");
	for (uint32_t k = 0; icrc_impls[k]; k++) {
		ops = icrc_impls[k];
		if (!ops->usable())
			continue;
		for (uint32_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			double crc, copy;

			crc_len = lens[i];
			crc = timing_step(step_crc, BATCH, RUN_NS);
			copy = timing_step(step_copy, BATCH, RUN_NS);
			printf("%-9s %6u  %7.1f (%4.1f)  %7.1f (%4.1f)\n", ops->name, crc_len, crc,
			       crc_len / crc, copy, crc_len / copy);
		}
	}
}

static void
bench_row(const struct row *row)
{
	prepare(row);
	printf("%-5s %-18s %7u", row->ipv6 ? "IPv6" : "IPv4", opcode_table[row->opcode].name,
	       row->payload_len);
	printf("  %6.1f", timing_step(step_parse, BATCH, RUN_NS));
	printf(" %10.1f", timing_step(step_check, BATCH, RUN_NS));
	printf(" %6.1f", timing_step(step_build, BATCH, RUN_NS));
	printf(" %14.1f", timing_step(step_seal, BATCH, RUN_NS));
	printf("%s%s\n", row->note ? "  " : "", row->note ? row->note : "");
}

int
main(void)
{
	static const struct row rows[] = {
		{false, OP_ACK, 0},
		{false, OP_WRITE_ONLY, 64},
		{false, OP_WRITE_MIDDLE, 1024},
		{false, OP_WRITE_MIDDLE, 4096},
		{true, OP_WRITE_ONLY, 64},
		{true, OP_WRITE_MIDDLE, 4096},
		{false, OP_WEFT | OP_ACK, 0},
		{false, OP_WEFT | OP_ACK, 0, {.has_sack = true}, "SACK block"},
		{false, OP_WEFT | OP_WRITE_ONLY, 64},
		{false, OP_WEFT | OP_WRITE_MIDDLE, 1024},
		{false, OP_WEFT | OP_WRITE_MIDDLE, 4096},
		{false, OP_WEFT | OP_WRITE_MIDDLE, 4096, {.has_lane = true}, "path header"},
		{false, OP_WEFT | OP_WRITE_MIDDLE, 4096, {.nb_slots = 5}, "INT, 5 slots"},
		{false, OP_WEFT | OP_SEND_MIDDLE, 4096, {.offset = 4096, .msg_len = 1 << 20}},
		{true, OP_WEFT | OP_WRITE_MIDDLE, 4096},
	};

	printf("ns per packet, median of %d runs, ICRC by %s\n\n", TIMING_RUNS, icrc_impl());
	printf("%-5s %-18s %7s  %6s %10s %6s %14s\n", "", "", "payload", "parse", "parse+ICRC",
	       "build", "build+copy+end");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bench_row(&rows[i]);
	bench_weft();
	bench_icrc();
	printf("\nlimit (copy+CRC out; CRC, copy in): %.0f ns at 1024, %.0f ns at 4096\n",
	       limit_ns(1024), limit_ns(4096));
	return 0;
}
