# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2034,SC2154
# Two programs (share.c) that write from one device to the other at the same time. Behind lib.sh.

# beside MS "QPS BYTES DEPTH" ["QPS BYTES DEPTH"]: they are set up one after the other, then both begin.
# Bytes that each wrote in MS milliseconds are in $beside_a and $beside_b, the ns that the daemon had meanwhile
# (as the first one saw it) in $beside_ns. 0 if all went well.
beside() {
	beside_ms=$1
	shift
	beside_n=0
	beside_pids=
	beside_log=client
	rm -f "$e2e_dir/go"
	mkfifo "$e2e_dir/go"
	exec 9<>"$e2e_dir/go"
	for beside_program; do
		beside_n=$((beside_n + 1))
		: >"$e2e_dir/share$beside_n"
		# shellcheck disable=SC2086 # three words
		(WEFTD_PID=$e2e_daemon run_for 120 "$WEFT_SHARE" $dev0 $dev1 $beside_program "$beside_ms") \
			<"$e2e_dir/go" 9>&- >"$e2e_dir/share$beside_n" 2>"$e2e_dir/$beside_log" &
		beside_log=server
		beside_pids="$beside_pids $!"
		e2e_pids="$e2e_pids $!"
		e2e_tries=0
		while ! grep -q ready "$e2e_dir/share$beside_n" && e2e_signal 0 $! && [ $e2e_tries -lt 600 ]; do
			sleep 0.1
			e2e_tries=$((e2e_tries + 1))
		done
	done
	exec 9>&-
	beside_code=0
	for beside_pid in $beside_pids; do
		wait "$beside_pid" || beside_code=1
	done
	beside_a=$(sed -n '2s/ .*//p' "$e2e_dir/share1")
	beside_ns=$(sed -n '2s/.* //p' "$e2e_dir/share1")
	beside_b=$(sed -n '2s/ .*//p' "$e2e_dir/share2" 2>/dev/null)
	return $beside_code
}
