#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Verbs that perftest and the pingpongs leave out, by a program of our own that knows libibverbs
# only; with registered memory where it is fastest and, where that matters, where it is not.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

e2e_start

for case in $("$WEFT_SURFACE"); do
	[ "$case" != daemon_dies ] || continue
	(run_for 60 "$WEFT_SURFACE" $dev0 $dev1 "$case") >"$e2e_dir/client" 2>&1
	verdict $? "$case"
done
for case in operations windows_type_2 memory_comes_and_goes fork_in_between; do
	(WEFT_REMAP=0 run_for 60 "$WEFT_SURFACE" $dev0 $dev1 "$case") >"$e2e_dir/client" 2>&1
	verdict $? "$case, WEFT_REMAP=0"
done

# A daemon of its own, for the one that kills it.
sed 's/10\.77\./10.79./g; s/weft0/other0/g; s/weft1/other1/g' "$WEFT_CONF" >"$e2e_dir/other.conf"
daemon_start other "$e2e_dir/other.conf"
other_pid=$daemon_pid
daemon_wait other0
(WEFTD_PID=$other_pid run_for 60 "$WEFT_SURFACE" other0 other1 daemon_dies) >"$e2e_dir/client" 2>&1
verdict $? "daemon_dies"
wait "$other_pid" 2>/dev/null

e2e_end
