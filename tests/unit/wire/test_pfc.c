/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "wire.h"

/* IEEE 802.1Qbb: pause class 3 for as long as can be said. */
static const uint8_t pause_class_3[60] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x01,             /* reserved multicast address */
	0x02, 0x00, 0x00, 0x00, 0x00, 0x07, 0x88, 0x08, /* MAC control */
	0x01, 0x01,                                     /* PFC */
	0x00, 0x08,                                     /* class enable vector */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff,
};

Test(pfc, builds_the_standards_frame)
{
	struct wire_pfc pfc = {.classes = 1 << 3, .time_quanta[3] = 0xffff};
	uint8_t buf[60];

	memset(buf, 0xa5, sizeof(buf));
	wire_build_pfc(buf, pause_class_3 + 6, &pfc);
	cr_expect_arr_eq(buf, pause_class_3, sizeof(buf));
}

Test(pfc, reads_back_every_class)
{
	struct wire_pfc in = {.classes = 0xa5}, out;
	struct wire_pkt w;
	enum wire_bad bad;
	uint8_t buf[60];

	for (uint32_t i = 0; i < 8; i++)
		in.time_quanta[i] = (uint16_t)(0x1234 * (i + 1));
	wire_build_pfc(buf, pause_class_3 + 6, &in);
	cr_expect_eq(wire_parse(buf, sizeof(buf), &w, &bad), WIRE_PFC);
	cr_expect_eq(bad, WIRE_BAD_NONE);
	cr_assert(wire_parse_pfc(buf, sizeof(buf), &out));
	cr_expect_eq(out.classes, in.classes);
	cr_expect_arr_eq(out.time_quanta, in.time_quanta, sizeof(in.time_quanta));
}

Test(pfc, takes_nothing_that_is_cut_short_or_another_mac_control_frame)
{
	struct wire_pfc pfc;
	struct wire_pkt w;
	enum wire_bad bad;
	uint8_t buf[60];

	for (uint32_t len = 0; len < 34; len++)
		cr_expect_not(wire_parse_pfc(pause_class_3, len, &pfc), "%u bytes", len);
	cr_expect(wire_parse_pfc(pause_class_3, 34, &pfc));

	memcpy(buf, pause_class_3, sizeof(buf));
	buf[14] = 0x00; /* the older PAUSE of all classes */
	cr_expect_not(wire_parse_pfc(buf, sizeof(buf), &pfc));
	cr_expect_eq(wire_parse(buf, sizeof(buf), &w, &bad), WIRE_OTHER);
}
