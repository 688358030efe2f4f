/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "sim_run.h"

/* How runs end: nothing that belongs to them is left out. */

Test(ends, samples_of_goodput_are_all_that_was_delivered)
{
	struct sim_run r = sim_run("[lab]\nduration = 100us\nprobes = goodput\n[topology]\n"
	                           "kind = star\nhosts = 3\n[workload w]\nkind = incast\n"
	                           "bytes = 100M\n");
	const struct series *s = &r.result->series[0];
	double bytes = 0, want = 0;

	cr_assert_eq(s->nb, 10, "the last is at the very end");
	for (uint32_t i = 0; i < s->nb; i++)
		bytes += s->values[i] * (double)r.result->sample_ps / 8e12;
	for (uint32_t i = 0; i < 3; i++)
		want += (double)r.result->hosts[i].delivered_bytes;
	cr_expect_float_eq(bytes, want, 1);
	sim_run_end(&r);
}

Test(ends, a_run_without_timeouts_waits_for_frames_that_links_keep)
{
	struct sim_run r = sim_run("[lab]\nsample = 0\n[topology]\nkind = back-to-back\n[host]\n"
	                           "timeout = 0\n[link all]\nfault_delay = 9s\n"
	                           "[workload w]\nkind = long\nbytes = 10K\n");

	cr_expect_eq(r.result->workloads[0].nb_done, 1);
	sim_run_end(&r);
}

/* Copies that timeouts made leave a slow link long after the last flow is done. */
Test(ends, no_link_is_taken_for_longer_than_the_run)
{
	struct sim_run r = sim_run("[lab]\nsample = 0\n[topology]\nkind = dumbbell\nhosts = 4\n"
	                           "core_rate = 1G\n[host]\ntimeout = 3\n"
	                           "[workload w]\nkind = long\ndst = 2\nbytes = 100K\n");
	uint64_t bytes_ps = 0;

	for (uint32_t i = 0; i < r.result->plan->nb_links; i++) {
		for (int way = 0; way < 2; way++) {
			const struct link_result *l = &r.result->links[i][way];
			uint64_t ps = l->bytes * 8 * PS_PER_S / r.result->plan->links[i].rate_bps;

			cr_expect_leq(l->busy_ps, r.result->end_ps);
			bytes_ps = ps > bytes_ps ? ps : bytes_ps;
		}
	}
	cr_expect_gt(bytes_ps, r.result->end_ps, "there was something to drain");
	sim_run_end(&r);
}
