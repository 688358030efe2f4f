#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weft and Linux's Soft-RoCE, each as server and as client of the other: Debian's programs, and one
# of ours that looks at every byte. In a long run over IPv4 and IPv6 with every path MTU; otherwise
# these take turns. Where packets are lost, messages are of 64 KiB at most: with 256 bytes to a packet
# go-back-N repeats a longer one from its middle dozens of times.
# shellcheck disable=SC2317 # called by everywhere and each_mtu
# shellcheck source=tests/interop/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ibv_rc_pingpong ib_write_bw

# pingpong SERVER PROG ARGS...: -c has it compare what arrives.
pingpong() {
	server=$1
	shift
	match "$server" "$@" -d DEV -g GID -c -n "$(reps 20)" && grep -q 'iters in' "$e2e_dir/client"
	verdict $? "$interop_family, $server serves: $*" \
		"$(grep -oE '[0-9.]+ usec/iter' "$e2e_dir/client")"
}

# perftest SERVER PROG ARGS...: -u has it wait for answers as long as peer does.
perftest() {
	server=$1
	shift
	match "$server" "$@" -d DEV -x GID -F -u 16 -n "$(reps 20)" && [ "$(perftest_rows)" = 1 ]
	verdict $? "$interop_family, $server serves: $*"
}

# peer SERVER ARGS...: each of its checks, with either side asking.
peer() {
	server=$1
	shift
	match "$server" "$WEFT_PEER" -d DEV -g GID "$@"
	verdict $? "$interop_family, $server serves: peer $*" \
		"$(grep -c '^ok' "$e2e_dir/client") checks"
}

# everywhere MATCH ARGS...: with each server and address family; unless $every is set, with each server
# and the next family.
every=${WEFT_TEST_LONG-}
turn=0
everywhere() {
	everywhere_match=$1
	shift
	for server in weft rxe; do
		families="ip ip6"
		mtus="256 512 1024 2048 4096"
		if [ -z "$every" ]; then
			turn=$((turn + 1))
			families=$(echo ip6 ip6 ip ip | cut -d ' ' -f $((turn % 4 + 1)))
			mtus=$(echo 4096 256 1024 512 2048 | cut -d ' ' -f $((turn % 5 + 1)))
		fi
		for family in $families; do
			use_family "$family"
			$everywhere_match $server "$@"
		done
	done
}

# everywhere_mtu MATCH ARGS...: the same with each path MTU, or the next.
everywhere_mtu() {
	everywhere each_mtu "$@"
}

# each_mtu SERVER MATCH ARGS...
each_mtu() {
	each_server=$1
	each_match=$2
	shift 2
	for mtu in $mtus; do
		$each_match "$each_server" "$@" -m "$mtu"
	done
}

# is_waiting: the server of peer's 'outlive' has its client, and lets it ask for a while.
is_waiting() {
	e2e_tries=0
	until grep -q '^waiting' "$e2e_dir/server" || [ $e2e_tries = $((e2e_limit * 20)) ]; do
		sleep 0.05
		e2e_tries=$((e2e_tries + 1))
	done
	sleep 0.3
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
	: >"$e2e_dir/server" # is_waiting must not find what the last one said
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

# Also in a long run: that has more matches, and what UC or UD has lost is waited for in vain.
e2e_limit=120

interop_open
interop_ready
weftd_on af_packet

everywhere_mtu pingpong ibv_rc_pingpong
everywhere_mtu pingpong ibv_uc_pingpong
everywhere pingpong ibv_ud_pingpong
everywhere_mtu perftest ib_send_bw -s 5000
everywhere_mtu perftest ib_write_bw -s 5000
# As many READs as a weft device has: rxe has more, and perftest would take its peer's number.
everywhere_mtu perftest ib_read_bw -s 5000 -o 16
everywhere perftest ib_atomic_bw -A FETCH_AND_ADD -o 16
everywhere perftest ib_atomic_bw -A CMP_AND_SWAP -o 16
everywhere_mtu peer

outlive_rxe
outlive_weft program
outlive_weft weftd
weftd_on af_packet "fault_loss = 2%" "fault_rx_loss = 2%"
everywhere_mtu peer -t send,write,read,atomic,mix -b 65537
if [ -n "${WEFT_TEST_LONG-}" ]; then
	weftd_on af_packet "fault_duplicate = 2%" "fault_rx_duplicate = 2%" \
		"fault_corrupt = 1%" "fault_rx_corrupt = 1%"
	every=
	for round in 1 2 3; do
		everywhere_mtu peer -t send,write,read,atomic,mix -b 65537 -n $((round * 8))
	done
fi

e2e_end
