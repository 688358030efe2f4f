#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A weftd that speaks weft where its peer does, and Linux's Soft-RoCE, which does not: it is found to be
# a plain peer, whoever of the two begins. One that insists on weft says why it cannot.
# shellcheck source=tests/interop/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ibv_rc_pingpong

# Also in a long run: the matches are the same.
e2e_limit=120

interop_open
interop_ready
weftd_on af_packet "framing = auto"
for family in ip ip6; do
	use_family $family
	for server in weft rxe; do
		match $server ibv_rc_pingpong -d DEV -g GID -c -n "$(reps 20)" && grep -q 'iters in' "$e2e_dir/client"
		verdict $? "$family, $server serves: ibv_rc_pingpong"
		match $server "$WEFT_PEER" -d DEV -g GID -t send,write,read,atomic
		verdict $? "$family, $server serves: peer" "$(grep -c '^ok' "$e2e_dir/client") checks"
	done
done

weftd_on af_packet "framing = weft"
use_family ip
! match rxe ibv_rc_pingpong -d DEV -g GID -n 10 &&
	grep -q "failed: framing = weft, and the peer.* RoCEv2" "$e2e_dir/weftd"
verdict $? "framing = weft: weftd says that the peer does not speak it" \
	"$(grep -o 'failed: framing.*' "$e2e_dir/weftd" | head -n 1 | cut -c 1-70)"

e2e_end
