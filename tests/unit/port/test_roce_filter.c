/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include "be.h"
#include "hdr.h"
#include "roce_filter.h"
#include "roce_frames.h"

/*
 * The kernel runs the program for every kind of socket on the bytes that were sent to it: a pair of
 * datagram sockets needs neither privilege nor interface.
 */
static int pair[2];

static void
open_pair(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	cr_assert_eq(setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_FILTER, &roce_filter,
	                        sizeof(roce_filter)),
	             0);
}

static void
close_pair(void)
{
	close(pair[0]);
	close(pair[1]);
}

/* Whether the filter lets a frame pass, and whole. */
static bool
passes(const uint8_t *frame, uint32_t len)
{
	uint8_t got[256];
	ssize_t n;

	/* A frame that the filter refuses is an error for a sender of this kind, or is not. */
	(void)!send(pair[0], frame, len, MSG_DONTWAIT);
	n = recv(pair[1], got, sizeof(got), MSG_DONTWAIT);
	cr_expect(n < 0 || n == (ssize_t)len);
	return n >= 0;
}

TestSuite(roce_filter, .init = open_pair, .fini = close_pair);

Test(roce_filter, takes_what_a_host_stack_wants_and_nothing_else)
{
	struct roce_frame frames[ROCE_FRAMES_MAX];
	uint32_t n = roce_frames(frames);

	cr_assert_gt(n, 20);
	for (uint32_t i = 0; i < n; i++) {
		/* The kernel takes the tag out before. */
		if (!frames[i].has_tag)
			cr_expect_eq(passes(frames[i].bytes, frames[i].len), frames[i].is_ours,
			             "%s", frames[i].name);
	}
}

Test(roce_filter, finds_the_port_behind_options)
{
	uint8_t frame[ETH_LEN + IPV4_LEN + 4 + UDP_LEN] = {0};

	put_be16(frame + 12, ETH_TYPE_IPV4);
	frame[ETH_LEN] = 0x46;
	frame[ETH_LEN + 9] = IP_PROTO_UDP;
	put_be16(frame + ETH_LEN + IPV4_LEN + 4 + 2, 4791);
	cr_expect(passes(frame, sizeof(frame)));
}
