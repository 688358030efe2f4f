/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft_examples.h"

#include <assert.h>
#include <string.h>

#include "golden.h"
#include "hdr.h"

#define NB (sizeof(packets) / sizeof(packets[0]))
#define FRAME_MAX 400

/* From the IP header on, or from the Ethernet header where there is no ICRC. */
static const struct {
	const char *id, *what, *hex;
	uint32_t payload_len; /* byte i is i mod 256 */
	const char *icrc;
} packets[] = {
	{"1", "dcp WRITE FIRST: 600 B to 0x10000, PSN 0x100, MSN 7",
         "456a0140 00014000 40112540 0a000001 0a000002 c00012b7 012c0000 e601ffff "
         "00000011 00000100 00000700 00000000 00010000 12345678 00000258",
         256, "46568a45"},
	{"2", "its WRITE MIDDLE",
         "456a0140 00024000 4011253f 0a000001 0a000002 c00012b7 012c0000 e701ffff "
         "00000011 00000101 00000700 00000000 00010100 12345678 00000258",
         256, "49a8be12"},
	{"3", "its WRITE LAST, acknowledgement asked",
         "456a0098 00034000 401125e6 0a000001 0a000002 c00012b7 00840000 e801ffff "
         "00000011 80000102 00000700 00000000 00010200 12345678 00000258",
         88, "661badfd"},
	{"3b", "2 after a message timeout: retry number 1",
         "456a0140 00094000 40112538 0a000001 0a000002 c00012b7 012c0000 e701ffff "
         "00000011 01000101 00000700 00000000 00010100 12345678 00000258",
         256, "b72c7805"},
	{"3c", "2 over IPv6",
         "66a00000 012c1140 fd000000 00000000 00000000 00000001 fd000000 00000000 "
         "00000000 00000002 c00012b7 012c0000 e701ffff 00000011 00000101 00000700 "
         "00000000 00010100 12345678 00000258",
         256, "b3be5087"},
	{"4", "2 trimmed",
         "02000000 00020200 00000001 0800456e 002b0002 40004011 26500a00 00010a00 "
         "0002c000 12b70017 29f2e701 ffff0000 00110000 01010000 07",
         0, NULL},
	{"5", "4 bounced",
         "02000000 00010200 00000002 0800456e 002b0002 40004011 26500a00 00020a00 "
         "0001c000 12b70017 17e1f901 ffff0000 00220000 01010000 07",
         0, NULL},
	{"6", "3c trimmed",
         "02000000 00020200 00000001 86dd66e0 00000017 1140fd00 00000000 00000000 "
         "00000000 0001fd00 00000000 00000000 00000000 0002c000 12b70017 43f0e701 "
         "ffff0000 00110000 01010000 07",
         0, NULL},
	{"7", "dcp ACK: cum 0x103, eMSN 8, count 3",
         "45640034 00014000 40112652 0a000002 0a000001 c00012b7 00200000 f101ffff "
         "00000022 00000103 00000800 40000003",
         0, "ad37c3da"},
	{"8", "irn NACK with SACK block: cum 4, PSN 5 is here",
         "45600034 00024000 40112655 0a000002 0a000001 c00012b7 00200000 f101ffff "
         "00000022 00000004 00000000 60000005",
         0, "31a2563d"},
	{"9", "rack ACK: cum 0x100, SACK block, timestamp echo",
         "45600048 00034000 40112640 0a000002 0a000001 c00012b7 00340000 f101ffff "
         "00000022 00000100 00000718 1f000103 00000000 00000000 0000000e 00f42400 "
         "000005dc",
         0, "c9ddb8c3"},
	{"10", "psn-path WRITE ONLY, 8 B, path header",
         "45620050 000b4000 4011262e 0a000001 0a000002 c00412b7 003c0000 ea01ffff "
         "00000011 0000000b 00000b10 00040001 00000bff 00000000 00002000 12345678 "
         "00000008 00010203 04050607",
         0, "de15aaed"},
	{"11", "psn-path NACK: PSN 7 is missing",
         "45600034 00044000 40112653 0a000002 0a000001 c00312b7 00200000 f101ffff "
         "00000022 00000007 00000100 65000007",
         0, "d7c1daec"},
	{"12", "READ REQUEST: 8 B at 0x3000, MSN 9",
         "45620048 000c4000 40112635 0a000001 0a000002 c00012b7 00340000 ec01ffff "
         "00000011 80000200 00000900 00000000 00003000 12345678 00000008 00000500 "
         "00000000",
         0, "8c9fc467"},
	{"13", "its response",
         "45620044 00074000 4011263e 0a000002 0a000001 c00012b7 00300000 f001ffff "
         "00000022 80000900 00000000 00000000 00000008 00000900 10111213 14151617",
         0, "e6289232"},
	{"14", "CMP_SWAP at 0x4000",
         "45620054 000d4000 40112628 0a000001 0a000002 c00012b7 00400000 f301ffff "
         "00000011 80000201 00000a00 00000000 00004000 12345678 11223344 55667788 "
         "00000000 00000001 00000500 00000100",
         0, "e5c5eac6"},
	{"15", "its response",
         "4562003c 00084000 40112645 0a000002 0a000001 c00012b7 00280000 f201ffff "
         "00000022 80000901 00000100 00000a00 00000000 00000001",
         0, "aca82c1a"},
	{"16", "SEND ONLY with immediate, solicited, 3 B, pad 1, SSN 5",
         "45620044 000e4000 40112637 0a000001 0a000002 c00012b7 00300000 e591ffff "
         "00000011 80000203 00000b00 00000000 00000003 00000500 cafef00d 61626300",
         0, "65d404e3"},
	{"17", "16 refused: no receive WQE",
         "4560003c 00054000 4011264a 0a000002 0a000001 c00012b7 00280000 f101ffff "
         "00000022 00000204 00000c02 1f000203 0000050c 00000b00",
         0, "869ca14b"},
	{"18", "VOID: second packet of a refused SEND",
         "4562003c 000f4000 4011263e 0a000001 0a000002 c00012b7 00280000 f501ffff "
         "00000011 00000206 00000d00 00000100 00000258 00000700",
         0, "53105802"},
	{"19", "WRITE ONLY with immediate, 0 B",
         "45620048 00104000 40112631 0a000001 0a000002 c00012b7 00340000 eb01ffff "
         "00000011 80000204 00000c00 00000000 00000000 00000000 00000000 00000600 "
         "00000001",
         0, "d385075c"},
	{"20", "fatal NAK: access, message 7",
         "45600034 00064000 40112651 0a000002 0a000001 c00012b7 00200000 f101ffff "
         "00000022 00000102 00000700 62000102",
         0, "f931c356"},
	{"21", "WRITE ONLY, 8 B, with two INT slots",
         "4562005c 00114000 4011261c 0a000001 0a000002 c00012b7 00480000 ea01ffff "
         "00000011 80000300 00002040 00000000 00000000 00000000 00000000 00000000 "
         "00000000 00005000 12345678 00000008 00010203 04050607",
         0, "e3020f25"},
	{"22", "21 behind a port of 100 Gb/s",
         "4562005c 00114000 4011261c 0a000001 0a000002 c00012b7 00480000 ea01ffff "
         "00000011 80000300 00002040 10003a01 80f42403 0d400138 00000000 00000000 "
         "00000000 00005000 12345678 00000008 00010203 04050607",
         0, "e3020f25"},
	{"23", "22 behind a port of 400 Gb/s, TBO",
         "4562005c 00114000 4011261c 0a000001 0a000002 c00012b7 00480000 ea01ffff "
         "00000011 80000300 00002040 28006bc6 80f42403 0d400138 afffff0f ffff0fa0 "
         "00000000 00005000 12345678 00000008 00010203 04050607",
         0, "e3020f25"},
	{"24", "ACK that echoes the hops of 23",
         "45600048 00094000 4011263a 0a000002 0a000001 c00012b7 00340000 f101ffff "
         "00000022 00000301 00002140 1f000300 28006bc6 80f42403 0d400138 afffff0f "
         "ffff0fa0",
         0, "3aa8f523"},
};

static uint8_t bytes[NB][FRAME_MAX];
static struct weft_example examples[NB];

/* A is 02:00:00:00:00:01 and has the address that ends in 1, B has 2. */
static uint32_t
put_eth(uint8_t *frame, bool ipv6, bool from_a)
{
	static const uint8_t mac[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};

	memcpy(frame, mac[from_a], 6);
	memcpy(frame + 6, mac[!from_a], 6);
	memcpy(frame + 12, ipv6 ? "\x86\xdd" : "\x08\x00", 2);
	return ETH_LEN;
}

static void
make(uint32_t i)
{
	uint8_t *frame = bytes[i];
	uint32_t len = 0;
	bool ipv6;

	if (packets[i].icrc) {
		uint8_t ip[FRAME_MAX];

		golden_hex(ip, packets[i].hex);
		ipv6 = ip[0] >> 4 == 6;
		len = put_eth(frame, ipv6, ip[ipv6 ? 23 : 15] == 1);
	}
	len += golden_hex(frame + len, packets[i].hex);
	ipv6 = frame[ETH_LEN] >> 4 == 6;
	for (uint32_t k = 0; k < packets[i].payload_len; k++)
		frame[len++] = (uint8_t)k;
	if (packets[i].icrc)
		len += golden_hex(frame + len, packets[i].icrc);
	assert(len <= FRAME_MAX);
	examples[i] = (struct weft_example){
		.id = packets[i].id,
		.what = packets[i].what,
		.frame = frame,
		.len = len,
		.l3_off = ETH_LEN,
		.ipv6 = ipv6,
		.has_icrc = packets[i].icrc,
	};
}

const struct weft_example *
weft_examples(uint32_t *nb)
{
	if (!examples[0].id)
		for (uint32_t i = 0; i < NB; i++)
			make(i);
	*nb = NB;
	return examples;
}

const struct weft_example *
weft_example(const char *id)
{
	uint32_t nb;
	const struct weft_example *all = weft_examples(&nb);

	for (uint32_t i = 0; i < nb; i++)
		if (!strcmp(all[i].id, id))
			return &all[i];
	assert(!"an example of this id");
	return NULL;
}
