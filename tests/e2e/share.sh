#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A program with one QP beside one with a thousand greedy ones: both have their share of the daemon. How
# large it is in time is the matter of tests/bench/share.sh; here it must not be a thousandth.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/beside.sh
. "$(dirname "$0")/beside.sh"

e2e_start

# row WHAT BYTES DEPTH: of the many's WRITEs.
row() {
	beside 3000 "1 65536 512" "1000 $2 $3"
	code=$?
	[ $code = 0 ] && [ "$beside_a" -gt 0 ] && [ "$beside_b" -gt 0 ] &&
		[ $((beside_a * 5)) -gt "$beside_b" ]
	verdict $? "1 QP beside 1,000 with WRITEs of $1" "$beside_a B beside $beside_b B"
}
row "64 KB" 65536 4
row "64 B" 64 64

e2e_end
