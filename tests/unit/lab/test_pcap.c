/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcap.h"
#include "pkt.h"
#include "result_rig.h"

/* Types of blocks. */
enum { SECTION = 0x0a0d0d0a, INTERFACE = 1, STATS = 5, PACKET = 6 };

/* Blocks of a file, one after the other. */
struct blocks {
	char *bytes;
	size_t len, at;
};

static uint32_t
word(const struct blocks *b, size_t offset)
{
	uint32_t value;

	cr_assert_leq(b->at + offset + sizeof(value), b->len);
	memcpy(&value, b->bytes + b->at + offset, sizeof(value));
	return value;
}

static void
skip(struct blocks *b, uint32_t type)
{
	uint32_t len = word(b, 4);

	cr_assert_eq(word(b, 0), type);
	cr_assert_eq(word(b, len - 4), len, "the length stands at both ends");
	b->at += len;
}

static void
see(struct pcap *pcap, uint16_t port, bool is_out, uint64_t at_ps, const struct pkt *pkt)
{
	const struct lab_tap *tap = pcap_tap(pcap);

	tap->frame(tap->arg, tap->node, port, is_out, at_ps, pkt);
}

static struct pcap *
open_in_folder(const struct plan *plan, uint32_t node)
{
	char path[256];
	struct pcap *pcap;

	snprintf(path, sizeof(path), "%s/x.pcapng", rig_folder());
	pcap = pcap_open(path, plan, node);
	cr_assert(pcap);
	return pcap;
}

Test(pcap, a_switch_has_an_interface_for_each_port)
{
	struct rig *rig = rig_create();
	struct pcap *pcap = open_in_folder(&rig->plan, RIG_HOSTS);
	struct blocks b = {0};

	cr_assert_eq(pcap_close(pcap), 0);
	b.bytes = rig_read("x.pcapng", &b.len);
	skip(&b, SECTION);
	for (int port = 0; port < RIG_HOSTS; port++) {
		const char name[] = {'s', '0', '/', (char)('0' + port)};

		cr_expect_eq(memcmp(b.bytes + b.at + 20, name, sizeof(name)), 0);
		skip(&b, INTERFACE);
	}
	for (int port = 0; port < RIG_HOSTS; port++)
		skip(&b, STATS);
	cr_expect_eq(b.at, b.len);
	free(b.bytes);
	rig_remove_folder();
	rig_free(rig);
}

Test(pcap, frames_have_the_time_of_the_run)
{
	uint8_t data[70];
	const struct pkt pkt = {.data = data, .len = sizeof(data)};
	const uint64_t late_ns = UINT64_C(0x123456789a);
	struct rig *rig = rig_create();
	struct pcap *pcap = open_in_folder(&rig->plan, 1);
	struct blocks b = {0};

	memset(data, 0x5a, sizeof(data));
	see(pcap, 0, true, 1999, &pkt);
	see(pcap, 0, false, late_ns * 1000, &pkt);
	cr_assert_eq(pcap_close(pcap), 0);
	b.bytes = rig_read("x.pcapng", &b.len);
	skip(&b, SECTION);
	skip(&b, INTERFACE);
	cr_expect_eq(word(&b, 12), 0);
	cr_expect_eq(word(&b, 16), 1, "1999 ps are 1 ns");
	cr_expect_eq(word(&b, 20), sizeof(data));
	cr_expect_eq(word(&b, 24), sizeof(data));
	cr_expect_eq(memcmp(b.bytes + b.at + 28, data, sizeof(data)), 0);
	cr_expect_eq(word(&b, 28 + 72 + 4), 2, "out");
	skip(&b, PACKET);
	cr_expect_eq(word(&b, 12), late_ns >> 32);
	cr_expect_eq(word(&b, 16), (uint32_t)late_ns);
	cr_expect_eq(word(&b, 28 + 72 + 4), 1, "in");
	skip(&b, PACKET);
	cr_expect_eq(word(&b, 24), 2, "frames seen");
	skip(&b, STATS);
	cr_expect_eq(b.at, b.len);
	free(b.bytes);
	rig_remove_folder();
	rig_free(rig);
}

Test(pcap, of_absent_payload_only_the_length_is_there)
{
	static uint8_t data[70];
	const struct pkt pkt = {.data = data, .len = 1082, .absent = 1012};
	struct rig *rig = rig_create();
	struct pcap *pcap = open_in_folder(&rig->plan, 1);
	struct blocks b = {0};

	see(pcap, 0, true, 0, &pkt);
	cr_assert_eq(pcap_close(pcap), 0);
	b.bytes = rig_read("x.pcapng", &b.len);
	skip(&b, SECTION);
	skip(&b, INTERFACE);
	cr_expect_eq(word(&b, 20), 70);
	cr_expect_eq(word(&b, 24), 1082);
	skip(&b, PACKET);
	free(b.bytes);
	rig_remove_folder();
	rig_free(rig);
}

Test(pcap, a_full_disk_is_told_once)
{
	static uint8_t data[9000];
	const struct pkt pkt = {.data = data, .len = sizeof(data)};
	struct rig *rig = rig_create();
	char line[LOG_LINE_MAX];

	rig_listen();
	/* Of one frame the close finds out; of many an earlier write does. */
	for (int nb = 1; nb <= 1000; nb += 999) {
		struct pcap *pcap = pcap_open("/dev/full", &rig->plan, 0);

		cr_assert(pcap);
		for (int i = 0; i < nb; i++)
			see(pcap, 0, true, 0, &pkt);
		cr_expect_eq(pcap_close(pcap), -ENOSPC);
		cr_expect_eq(rig_logged(line), 1);
		cr_expect(strstr(line, "/dev/full: No space left"), "%s", line);
	}
	rig_free(rig);
}

Test(pcap, a_file_that_cannot_be_made_is_told)
{
	struct rig *rig = rig_create();
	char line[LOG_LINE_MAX];

	rig_listen();
	cr_expect_null(pcap_open("/nowhere/x.pcapng", &rig->plan, 0));
	cr_expect_eq(rig_logged(line), 1);
	cr_expect(strstr(line, "/nowhere/x.pcapng"));
	rig_free(rig);
}
