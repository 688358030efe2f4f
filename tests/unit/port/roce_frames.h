/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_ROCE_FRAMES_H
#define WEFT_TEST_ROCE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

/** A frame as it arrives on an interface of the kernel, and whether it is for a host stack. */
struct roce_frame {
	const char *name;
	uint8_t bytes[128];
	uint32_t len;
	bool is_ours;
	bool has_tag; /**< a VLAN tag stands in the frame */
};

#define ROCE_FRAMES_MAX 64

/** Fill in all that there are; returns how many. */
uint32_t roce_frames(struct roce_frame frames[ROCE_FRAMES_MAX]);

#endif
