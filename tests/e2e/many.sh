#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ten thousand connected QPs and 1,500 that come and go: what they cost the daemon, what is left.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# many NAME ARGS...: the program's last line is the note.
many() {
	e2e_name=$1
	shift
	(WEFTD_PID=$e2e_daemon exec timeout -k 5 $((e2e_limit * 3)) "$WEFT_MANY" $dev0 $dev1 "$@") >"$e2e_dir/client" 2>&1
	verdict $? "$e2e_name" "$(tail -n 1 "$e2e_dir/client")"
}

e2e_start

many "10,000 connected QPs take 2 KB each, and 1,000 of them move data" idle 10000
many "1,500 QPs that come and go leave nothing" rounds 1500
[ -z "${WEFT_TEST_LONG-}" ] || many "100,000 connected QPs" bytes 100000

e2e_end
