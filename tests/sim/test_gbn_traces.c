/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "be.h"
#include "hdr.h"
#include "opcode.h"
#include "sim_run.h"

/*
 * What go-back-N sends after which loss, frame by frame, over the whole stack. A trace has the
 * frames that one host sends and hears, in order: "3" is the third packet of the message, "+3" an
 * ACK of it and of all before it, "-3" a NAK that expects it.
 *
 * 2^23 - 1 packets ahead and 2^23 behind is what no stack of ours ever sends: those two lines of
 * the receiver's rules are in tests/unit/reliability/test_gbn.c.
 */

struct trace {
	char text[4096];
	size_t len;
	uint32_t first_psn;
};

static void
note(void *arg, uint32_t node, uint16_t port, bool is_out, uint64_t at_ps, const struct pkt *p)
{
	struct trace *t = arg;
	const uint8_t *bth = p->data + ETH_LEN + IPV4_LEN + UDP_LEN;
	uint32_t number = (get_be32(bth + 8) - t->first_psn + 1) & 0xffffff;
	const char *sign = "";

	(void)node;
	(void)port;
	(void)is_out;
	(void)at_ps;
	if (opcode_table[bth[0]].flags & OPF_ACK)
		sign = bth[BTH_LEN] >> 5 ? "-" : "+";
	t->len += (size_t)snprintf(t->text + t->len, sizeof(t->text) - t->len, "%s%s%u",
	                           t->len ? " " : "", sign, number);
	cr_assert_lt(t->len, sizeof(t->text));
}

/* A message of so many packets of 1 KB from h0 to h1, which are 88.48 ns each and 1 us apart. */
static struct sim_run
run(uint32_t nb_pkts, uint32_t first_psn, const char *keys, uint64_t seed, uint32_t node,
    struct trace *t)
{
	const struct lab_tap tap = {.frame = note, .arg = t, .node = node};
	struct sim_run r =
		sim_run_read("[lab]\nseed = %lu\npsn = %u\n[topology]\nkind = back-to-back\n"
	                     "delay = 1us\n[host]\ntimeout = 4\n"
	                     "[workload w]\nkind = long\nbytes = %uK\n%s",
	                     seed, first_psn, nb_pkts, keys);

	*t = (struct trace){.first_psn = first_psn};
	sim_run_go(&r, &tap);
	cr_assert_eq(r.result->flows[0].status, FLOW_DONE);
	return r;
}

struct row {
	const char *what;
	uint32_t nb_pkts, first_psn;
	const char *keys;
	const char *at_sender, *at_receiver;
	uint32_t nb_timeouts;
};

static void
try_row(const struct row *row)
{
	struct trace sender, receiver;
	struct sim_run r = run(row->nb_pkts, row->first_psn, row->keys, 1, 0, &sender);

	cr_expect_eq(r.result->hosts[0].nic->local_ack_timeout_err, row->nb_timeouts, "%s: %lu",
	             row->what, r.result->hosts[0].nic->local_ack_timeout_err);
	sim_run_end(&r);
	r = run(row->nb_pkts, row->first_psn, row->keys, 1, 1, &receiver);
	sim_run_end(&r);
	cr_expect_str_eq(sender.text, row->at_sender, "%s, at the sender:\n%s\n%s", row->what,
	                 sender.text, row->at_sender);
	cr_expect_str_eq(receiver.text, row->at_receiver, "%s, at the receiver:\n%s\n%s", row->what,
	                 receiver.text, row->at_receiver);
}

/*
 * Eight packets ask for one ACK, at their end; the first behind a timeout asks too. A duplicate is
 * always answered by what is there. (A run that is over goes on to the end of its window, 1 us:
 * seven of eight answers of the last row but one.)
 */
Test(gbn_traces, losses_are_repaired_as_the_rules_say)
{
#define DATA "[link h0-h1]\nfault_pattern = "
#define ANSWERS "fault_rx_pattern = "
	static const struct row rows[] = {
		{"the third is lost", 8, 0, DATA "00100000000000000000",
	         "1 2 3 4 5 6 7 8 -3 3 4 5 6 7 8 +8", "1 2 4 -3 5 6 7 8 3 4 5 6 7 8 +8", 0},
		{"the last is lost: no NAK ever", 8, 0, DATA "00000001000000000000",
	         "1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 8 +7 +7 +7 +7 +7 +7 +7 +8",
	         "1 2 3 4 5 6 7 1 +7 2 +7 3 +7 4 +7 5 +7 6 +7 7 +7 8 +8", 1},
		{"the third is lost twice: one NAK per gap", 8, 0, DATA "001000001000000000000000",
	         "1 2 3 4 5 6 7 8 -3 3 4 5 6 7 8 3 4 5 6 7 8 +3 +8",
	         "1 2 4 -3 5 6 7 8 4 5 6 7 8 3 +3 4 5 6 7 8 +8", 1},
		{"the same, and the NAK is repeated", 8, 0,
	         "[engine gbn]\nrenak = 2100ns\n" DATA "001000001000000000000000",
	         "1 2 3 4 5 6 7 8 -3 3 4 5 6 7 8 -3 3 4 5 6 7 8 +8",
	         "1 2 4 -3 5 6 7 8 4 -3 5 6 7 8 3 4 5 6 7 8 +8", 0},
		{"the third and the NAK are lost", 8, 0,
	         DATA "00100000000000000000\n" ANSWERS "10000000",
	         "1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 8 +2 +2 +8",
	         "1 2 4 -3 5 6 7 8 1 +2 2 +2 3 4 5 6 7 8 +8", 1},
		{"the ACK is lost", 8, 0, "[link h0-h1]\n" ANSWERS "10000000",
	         "1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 8 +8 +8 +8 +8 +8 +8 +8",
	         "1 2 3 4 5 6 7 8 +8 1 +8 2 +8 3 +8 4 +8 5 +8 6 +8 7 +8 8 +8", 1},
		{"the second is lost where PSNs wrap", 4, 0xfffffe, DATA "010000000000",
	         "1 2 3 4 -2 2 3 4 +4", "1 3 -2 4 2 3 4 +4", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		try_row(&rows[i]);
}

/*
 * The fourth of eight is overtaken by the fifth, and nothing is lost. 5 raises NAK(4); 4, which
 * follows at once, is taken in its place; 6 is ahead of 5 and raises NAK(5). At the first NAK the
 * sender has sent all eight, and begins again at 4; a frame later the second NAK comes, when it is
 * at 5 anyway. 4 to 8, five packets, are sent for nothing.
 *
 * Dice decide who is overtaken: the test takes the first seed that strikes the fourth only.
 */
Test(gbn_traces, reordering_looks_like_loss_and_costs_five_packets)
{
	static const char want[] = "1 2 3 5 -4 4 6 -5 7 8 ";
	static const char keys[] = "[link h0-h1]\nfault_reorder = 12.5%\n"
				   "fault_reorder_pkts = 1\nfault_reorder_time = 100us\n";
	bool is_found = false;

	for (uint64_t seed = 1; seed < 3000 && !is_found; seed++) {
		struct trace t;
		struct sim_run r = run(8, 0, keys, seed, 1, &t);

		is_found = strncmp(t.text, want, sizeof(want) - 1) == 0 &&
		           r.result->links[0][0].faults.tx[FAULT_REORDER] == 1;
		if (is_found) {
			cr_expect_str_eq(t.text, "1 2 3 5 -4 4 6 -5 7 8 4 +4 5 6 7 8 +8", "%s",
			                 t.text);
			sim_run_end(&r);
			r = run(8, 0, keys, seed, 0, &t);
			cr_expect_str_eq(t.text, "1 2 3 4 5 6 7 8 -4 4 -5 5 6 7 8 +4 +8", "%s",
			                 t.text);
			cr_expect_eq(r.result->hosts[0].retransmitted_pkts, 5);
		}
		sim_run_end(&r);
	}
	cr_expect(is_found, "no seed overtakes the fourth only");
}

/*
 * Packet k is lost. The next one, 88.48 ns later, tells the receiver; its NAK is back after twice
 * 1 us and its own 6.88 ns. What began before that is behind k: W = (2 x 88.48 + 2000 + 6.88) /
 * 88.48 = 24 packets, and W + 1 are sent again.
 */
Test(gbn_traces, a_loss_costs_what_is_in_flight_behind_it_and_itself)
{
	static const uint32_t ks[] = {1, 10, 15};

	for (size_t i = 0; i < sizeof(ks) / sizeof(ks[0]); i++) {
		char keys[128] = "[link h0-h1]\nfault_pattern = ";
		size_t len = strlen(keys);
		struct trace t;
		struct sim_run r;

		memset(keys + len, '0', 64);
		keys[len + ks[i] - 1] = '1';
		keys[len + 64] = '\n';
		r = run(39, 0, keys, 1, 0, &t); /* 39 + 25 frames are one turn of the pattern */
		cr_expect_eq(r.result->hosts[0].retransmitted_pkts, 24 + 1, "k %u: %lu", ks[i],
		             r.result->hosts[0].retransmitted_pkts);
		cr_expect_eq(r.result->hosts[0].nic->packet_seq_err, 1);
		sim_run_end(&r);
	}
}
