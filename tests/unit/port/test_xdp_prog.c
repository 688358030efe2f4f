/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "roce_frames.h"
#include "xdp_prog.h"

static void
load(struct xdp_prog *prog, enum kernel_take take)
{
	int err = xdp_prog_load(prog, take);

	if (err == -EPERM)
		cr_skip_test("loading a BPF program needs root");
	cr_assert_eq(err, 0, "%s", strerror(-err));
}

/* What the kernel would do with a frame: without a socket, XDP_DROP stands for one of ours. */
static uint32_t
verdict(const struct xdp_prog *prog, const uint8_t *frame, uint32_t len)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = len, .repeat = 1);

	cr_assert_eq(bpf_prog_test_run_opts(prog->prog_fd, &opts), 0, "%s", strerror(errno));
	return opts.retval;
}

Test(xdp_prog, takes_what_a_host_stack_wants_and_leaves_the_rest_to_the_kernel)
{
	struct roce_frame frames[ROCE_FRAMES_MAX];
	uint32_t n = roce_frames(frames);
	struct xdp_prog prog;

	load(&prog, KERNEL_TAKE_ROCE);
	cr_assert_gt(n, 20);
	for (uint32_t i = 0; i < n; i++)
		cr_expect_eq(verdict(&prog, frames[i].bytes, frames[i].len),
		             frames[i].is_ours ? XDP_DROP : XDP_PASS, "%s", frames[i].name);
	xdp_prog_close(&prog);
}

/* Every length of a frame of ours: nothing beyond its end is looked at, and half a port is none. */
Test(xdp_prog, a_frame_that_ends_anywhere_is_judged_by_what_is_there)
{
	struct roce_frame frames[ROCE_FRAMES_MAX];
	uint32_t n = roce_frames(frames);
	struct xdp_prog prog;

	load(&prog, KERNEL_TAKE_ROCE);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t l3 = frames[i].has_tag ? 18 : 14, l4;

		if (!frames[i].is_ours || frames[i].bytes[12] == 0x88) /* not a pause */
			continue;
		l4 = l3 + (frames[i].bytes[l3] >> 4 == 4 ? 20 : 40);
		/* The kernel has no shorter frame than an Ethernet header. */
		for (uint32_t len = 14; len <= frames[i].len; len++)
			cr_expect_eq(verdict(&prog, frames[i].bytes, len),
			             len < l4 + 8 ? XDP_PASS : XDP_DROP, "%s, %u bytes",
			             frames[i].name, len);
	}
	xdp_prog_close(&prog);
}

Test(xdp_prog, a_port_of_a_switch_takes_everything)
{
	struct roce_frame frames[ROCE_FRAMES_MAX];
	uint32_t n = roce_frames(frames);
	struct xdp_prog prog;

	load(&prog, KERNEL_TAKE_ALL);
	for (uint32_t i = 0; i < n; i++)
		cr_expect_eq(verdict(&prog, frames[i].bytes, frames[i].len), XDP_DROP, "%s",
		             frames[i].name);
	xdp_prog_close(&prog);
}
