#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ib_atomic_bw and ib_atomic_lat between the devices.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ib_atomic_bw ib_atomic_lat

e2e_start

for type in FETCH_AND_ADD CMP_AND_SWAP; do
	pair ib_atomic_bw -A $type -n "$(reps 2000)"
	pair ib_atomic_bw -A $type -n "$(reps 1000)" -b
	pair ib_atomic_bw -A $type -n "$(reps 500)" -q 16
	pair ib_atomic_bw -A $type -n "$(reps 1000)" -o 1
	pair ib_atomic_bw -A $type -n "$(reps 1000)" -e
	pair ib_atomic_lat -A $type -n "$(reps 1000)"
done

e2e_end
