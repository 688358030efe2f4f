#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Priority flow control at NICs on interfaces of the kernel: pauses are obeyed by class, storms that
# somebody forges are broken, and the kernel beside notices nothing.
# shellcheck disable=SC2154,SC2086 # set by lib.sh or by eval; words of numbers and commands
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/net.sh
. "$(dirname "$0")/net.sh"

e2e_needs ib_write_bw ib_send_bw ip ping python3
here=$(cd "$(dirname "$0")" && pwd)

# daemons KIND [LINE]: one on each side, data of class 3; at 100 Mb/s the longest pause takes 335.5 ms.
daemons() {
	for side in 0 1; do
		printf '[nic weft%s]\nport = %s:weft%s\ntraffic_class = 104\nrate = 100M\n%s\n' \
			$side "$1" $side "${2-}" >"$e2e_dir/side$side.conf"
		eval "e2e_inside=\$in$side"
		daemon_start weftd "$e2e_dir/side$side.conf"
		eval "pid$side=\$daemon_pid"
		daemon_wait weft$side || return
	done
	gid0=$(gid_index weft0 '::ffff:10\.')
	gid1=$(gid_index weft1 '::ffff:10\.')
}

daemons_end() {
	e2e_stop "$pid0" "$pid1"
}

# count NIC NAME: a counter's value.
count() {
	"$WEFTCTL" --socket "side${1#weft}" --all counters "$1" | sed -n "s/^$1 $2 //p"
}

# forge SIDE ARGS...: to the NIC of the other side; returns when the first frame is out.
forge() {
	eval "e2e_inside=\$in$1"
	e2e_interface=weft$1
	shift
	: >"$e2e_dir/forger"
	$e2e_inside python3 "$here/pfc_forger.py" $e2e_interface "$@" >"$e2e_dir/forger" 2>&1 &
	forger_pid=$!
	e2e_pids="$e2e_pids $forger_pid"
	e2e_tries=0
	until grep -q sent "$e2e_dir/forger" || [ $e2e_tries = 100 ]; do
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
}

# is_counted NIC NAME: within 5 s the counter is above 0.
is_counted() {
	e2e_tries=0
	until [ "$(count "$1" "$2")" -gt 0 ]; do
		e2e_tries=$((e2e_tries + 1))
		[ $e2e_tries -lt 50 ] || return
		sleep 0.1
	done
}

# transfer: data from weft1 to weft0, and datagrams.
transfer() {
	next_port
	both $e2e_limit ib_write_bw -d weft0 -x "$gid0" -F -p $e2e_port -s 4096 -n 500 -- \
		ib_write_bw -d weft1 -x "$gid1" -F -p $e2e_port -s 4096 -n 500 127.0.0.1 || return
	next_port
	both $e2e_limit ib_send_bw -d weft0 -x "$gid0" -F -c UD -p $e2e_port -s 1024 -n 100 -- \
		ib_send_bw -d weft1 -x "$gid1" -F -c UD -p $e2e_port -s 1024 -n 100 127.0.0.1
}

# on KIND: everything that holds for each kind of port.
on() {
	kind=$1
	daemons "$kind"
	verdict $? "$kind: two daemons start" "GIDs $gid0, $gid1"

	forge 0 0x08 0x1000
	wait $forger_pid
	transfer
	verdict $? "$kind: a pause ends by itself"
	# 4,096 x 512 bits at 100 Mb/s, however long the transfer took.
	[ "$(count weft1 rx_prio3_pause)" = 1 ] && [ "$(count weft1 rx_prio3_pause_duration)" = 20971 ] &&
		[ "$(count weft1 rx_prio3_pause_storm)" = 0 ]
	verdict $? "$kind: it is counted, and its time" "$(count weft1 rx_prio3_pause_duration) us"

	forge 0 0xf7 0xffff 10
	transfer
	verdict $? "$kind: other classes are not meant"
	e2e_stop $forger_pid
	[ "$(count weft1 rx_prio3_pause)" = 1 ] && is_counted weft1 rx_prio5_pause
	verdict $? "$kind: they are counted as what they are"

	forge 0 0x08 0xffff 5 resume
	first_pid=$forger_pid
	forge 1 0x08 0xffff 5
	transfer
	verdict $? "$kind: storms at both ends are broken, and data go on"
	for nic in weft0 weft1; do
		is_counted $nic rx_prio3_pause_storm && is_counted $nic rx_prio3_pause_ignored
		verdict $? "$kind: $nic has counted it" "$(count $nic rx_prio3_pause) pauses"
	done
	$in0 ping -q -c 3 -i 0.2 -W 2 10.99.0.11 >"$e2e_dir/client" 2>&1
	verdict $? "$kind: the kernels answer pings meanwhile"
	e2e_stop $first_pid $forger_pid
	daemons_end
}

# keys KIND: what the keys of the conf change; the NIC does that, whatever its port.
keys() {
	kind=$1
	# Nothing at all leaves a NIC that is paused all the time and lets nothing end it.
	daemons "$kind" 'pfc_watchdog = 0' && forge 0 0x08 0xffff 5
	next_port
	! both 3 ib_write_bw -d weft0 -x "$gid0" -F -p $e2e_port -s 4096 -n 500 -- \
		ib_write_bw -d weft1 -x "$gid1" -F -p $e2e_port -s 4096 -n 500 127.0.0.1
	verdict $? "$kind: without a watchdog, a storm lasts" "$(count weft1 rx_prio3_pause_duration) us"
	e2e_stop $forger_pid
	daemons_end

	daemons "$kind" 'pfc = no' && forge 0 0xff 0xffff 5
	transfer && [ "$(count weft1 rx_prio3_pause)" = 0 ] && is_counted weft1 drop_not_roce
	verdict $? "$kind: a NIC that obeys none is not held up"
	e2e_stop $forger_pid
	daemons_end
}

export WEFT_RUNTIME_DIR="$e2e_dir"
# What the driver of veth can give to XDP fits a page.
net_or_skip weft 3498 10.99.0
on af_packet
on af_xdp
keys af_packet
e2e_stop $e2e_pids
net_close
e2e_end
