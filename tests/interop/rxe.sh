#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weft and Linux's Soft-RoCE, each as server and as client of the other: Debian's programs, and one
# of ours that looks at every byte. In a long run over IPv4 and IPv6 with every path MTU; otherwise
# these take turns.
# shellcheck disable=SC2317 # called by everywhere
# shellcheck source=tests/interop/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ibv_rc_pingpong ib_write_bw

# pingpong SERVER MTU PROG ARGS...: -c has it compare what arrives.
pingpong() {
	server=$1
	shift 2
	match "$server" "$@" -d DEV -g GID -c -n "$(reps 20)" && grep -q 'iters in' "$e2e_dir/client"
	verdict $? "$interop_family, $server serves: $*" \
		"$(grep -oE '[0-9.]+ usec/iter' "$e2e_dir/client")"
}

# pingpong_mtu SERVER MTU PROG ARGS...: the same with a path MTU.
pingpong_mtu() {
	pingpong "$@" -m "$2"
}

# perftest SERVER MTU PROG ARGS...: with as many READs as a weft device has; rxe has more, and
# perftest would take its peer's.
perftest() {
	server=$1
	shift 2
	match "$server" "$@" -d DEV -x GID -F -n "$(reps 20)" && [ "$(perftest_rows)" = 1 ]
	verdict $? "$interop_family, $server serves: $*"
}

perftest_mtu() {
	perftest "$@" -m "$2"
}

# peer SERVER MTU ARGS...: each of its checks, with either side asking.
peer() {
	server=$1
	mtu=$2
	shift 2
	match "$server" "$WEFT_PEER" -d DEV -g GID -m "$mtu" "$@"
	verdict $? "$interop_family, $server serves: peer -m $mtu${*:+ $*}" \
		"$(grep -c '^ok' "$e2e_dir/client") checks"
}

# everywhere MATCH PROG ARGS...: with each server, family and MTU; in a short run with each server
# and the next family and MTU.
turn=0
everywhere() {
	interop_match=$1
	shift
	for server in weft rxe; do
		if [ -z "${WEFT_TEST_LONG-}" ]; then
			turn=$((turn + 1))
			use_family "$(echo ip6 ip6 ip ip | cut -d ' ' -f $((turn % 4 + 1)))"
			mtu=$(echo 4096 256 1024 512 2048 | cut -d ' ' -f $((turn % 5 + 1)))
			$interop_match $server "$mtu" "$@"
			continue
		fi
		for family in ip ip6; do
			use_family $family
			for mtu in 256 512 1024 2048 4096; do
				$interop_match $server $mtu "$@"
			done
		done
	done
}

# is_waiting: the server of peer's 'outlive' has its client, and lets it ask for a while.
is_waiting() {
	e2e_tries=0
	until grep -q '^waiting' "$e2e_dir/server" || [ $e2e_tries = 400 ]; do
		sleep 0.05
		e2e_tries=$((e2e_tries + 1))
	done
	sleep 1
}

# outlive_rxe: the guest's program is killed while ours asks something of it on and on.
outlive_rxe() {
	next_port
	set -- -t outlive -a client -p $e2e_port
	guest_serve "$WEFT_PEER -d rxe0 -g $rxe_gid $*"
	(run_for $e2e_limit "$WEFT_PEER" -d "$dev0" -g "$weft_gid" "$@" "$guest_ip") \
		>"$e2e_dir/client" 2>&1 &
	asking=$!
	e2e_pids="$e2e_pids $asking"
	is_waiting
	guest 10 "killall -9 $(basename "$WEFT_PEER")"
	wait $asking
	code=$?
	guest_end "$e2e_dir/server" "$interop_job"
	[ $code = 0 ] && tail -n 1 "$e2e_dir/weftd" | grep 'no answer in time' >/dev/null
	verdict $? "the guest's program is killed: ours fails with retry exceeded, and weftd says why"
}

# outlive_weft VICTIM: our program, or the weftd below it, is killed while the guest's asks.
outlive_weft() {
	next_port
	victim=$1
	set -- -t outlive -a client -p $e2e_port
	(run "$WEFT_PEER" -d "$dev0" -g "$weft_gid" "$@") >"$e2e_dir/server" 2>&1 &
	program=$!
	e2e_pids="$e2e_pids $program"
	guest_start "$e2e_dir/client" $e2e_limit "$WEFT_PEER -d rxe0 -g $rxe_gid $* $interop_ip"
	is_waiting
	case $victim in
	program) e2e_signal KILL $program ;;
	weftd)
		e2e_signal KILL "$e2e_daemon"
		wait "$e2e_daemon" 2>/dev/null
		e2e_daemon=
		;;
	esac
	guest_end "$e2e_dir/client" "$guest_job"
	verdict $? "our $victim is killed: the guest's program fails with retry exceeded"
	e2e_stop $program
}

interop_open
interop_ready
weftd_on af_packet

everywhere pingpong_mtu ibv_rc_pingpong
everywhere pingpong_mtu ibv_uc_pingpong
everywhere pingpong ibv_ud_pingpong
everywhere perftest_mtu ib_send_bw -s 5000
everywhere perftest_mtu ib_write_bw -s 5000
everywhere perftest_mtu ib_read_bw -s 5000 -o 16
everywhere perftest ib_atomic_bw -A FETCH_AND_ADD -o 16
everywhere perftest ib_atomic_bw -A CMP_AND_SWAP -o 16
everywhere peer

outlive_rxe
outlive_weft program
outlive_weft weftd
weftd_on af_packet "fault_loss = 2%" "fault_rx_loss = 2%"
everywhere peer -t send,write,read,atomic,mix -n "$(reps 8)"

e2e_end
