#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The weft framing under unmodified programs, through a switch whose ports lose, double and reorder
# one frame in a hundred each; -c and surface compare every byte.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ib_write_bw ib_send_bw ib_read_bw ib_atomic_bw ibv_rc_pingpong ibv_srq_pingpong
# framings DEVICE: of its QPs, each once.
framings() {
	timeout 20 "$WEFTCTL" qps | awk -v dev="$1" '$1 == dev && $3 == "RC" {print $6}' | sort -u
}

e2e_framing=weft
e2e_start
for e2e_end_port in sw0/0 sw0/1; do
	set_fault $e2e_end_port fault_loss 1%
	set_fault $e2e_end_port fault_duplicate 1%
	set_fault $e2e_end_port fault_reorder 1%
done

pair_start ib_write_bw -D 3
sleep 1
[ "$(framings weft0) $(framings weft1)" = "weft weft" ]
verdict $? "both ends speak weft" "$(framings weft0) $(framings weft1)"
pair_end
verdict $? "ib_write_bw -D 3"
pair ib_write_bw -a -n "$(reps 5)"
pair ib_send_bw -a -n "$(reps 5)"
pair ib_send_bw -n "$(reps 300)" -b
pair ib_read_bw -a -n "$(reps 5)"
pair ib_read_bw -n "$(reps 300)" -b
pair ib_atomic_bw -A FETCH_AND_ADD -n "$(reps 500)"
pair ib_atomic_bw -A CMP_AND_SWAP -n "$(reps 500)" -b
pair ib_write_lat -n "$(reps 300)"
(run_for 60 "$WEFT_SURFACE" $dev0 $dev1 operations) >"$e2e_dir/client" 2>&1
verdict $? "operations of surface"
# Who has received its last message leaves; were its last acknowledgement lost, the other end would
# repeat to nobody. Perftest's ends leave together.
for e2e_end_port in sw0/0 sw0/1; do
	set_fault $e2e_end_port fault_loss 0%
done
for e2e_mtu in 256 1024 4096; do
	pingpong ibv_rc_pingpong -m $e2e_mtu -s 20000 -n "$(reps 100)" -c
done
pingpong ibv_rc_pingpong -r 1 -n "$(reps 100)" -c
pingpong ibv_srq_pingpong -c -n "$(reps 50)"
pingpong ibv_srq_pingpong -q 4 -r 8 -c -n "$(reps 50)"
e2e_end
