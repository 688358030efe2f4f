#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons in two network namespaces, joined by a veth pair that each shares with its kernel.
# shellcheck disable=SC2154,SC2086 # set by lib.sh or by eval; words of numbers and commands
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/net.sh
. "$(dirname "$0")/net.sh"

e2e_needs ib_write_bw ib_read_bw ib_send_bw ib_atomic_lat ibv_rc_pingpong ip iperf3 ping bash

# daemons KIND INTERFACE_SUFFIX: one on each side. Their IPv4 GIDs in gid0, gid1.
daemons() {
	for side in 0 1; do
		printf '[nic weft%s]\nport = %s:weft%s%s\n' $side "$1" $side "$2" >"$e2e_dir/side$side.conf"
		daemon_on $side || return
	done
	gid0=$(gid_index weft0 '::ffff:10\.')
	gid1=$(gid_index weft1 '::ffff:10\.')
}

daemon_on() {
	eval "e2e_inside=\$in$1"
	daemon_start weftd "$e2e_dir/side$1.conf"
	eval "pid$1=\$daemon_pid"
	daemon_wait weft"$1"
}

daemons_end() {
	e2e_stop "$pid0" "$pid1"
}

# unreachables: "port unreachable" and the like that the two kernels have sent.
unreachables() {
	for inside in "$in0" "$in1"; do
		$inside cat /proc/net/snmp /proc/net/snmp6
	done | awk '
		$1 == "Icmp:" && !column { for (i = 2; i <= NF; i++) if ($i == "OutDestUnreachs") column = i; next }
		$1 == "Icmp:" { n += $column; column = 0 }
		$1 == "Icmp6OutDestUnreachs" { n += $2 }
		END { print n + 0 }'
}

# beside_tcp COMMAND...: while iperf3 sends through the same interfaces. 0 if both went well.
beside_tcp() {
	$in1 iperf3 -s -1 -D -I "$e2e_dir/iperf3.pid" >/dev/null
	sleep 0.3
	$in0 iperf3 -c 10.99.0.11 -t 3 >"$e2e_dir/iperf3" 2>&1 &
	e2e_pids="$e2e_pids $!"
	iperf3_pid=$!
	"$@"
	beside_code=$?
	wait $iperf3_pid && [ $beside_code = 0 ]
}

# transfers: enough of everything that goes over the wire.
transfers() {
	pair ib_write_bw -s 65536 -n 500
	pair ib_read_bw -s 65536 -n 200
	pair ib_send_bw -s 4096 -n 500
	pair ib_send_bw -c UD -s 1024 -n 500
	pair ib_atomic_lat -n 200
}

# quick: whether anything goes over the wire.
quick() {
	next_port
	both $e2e_limit ibv_rc_pingpong -d weft0 -g "$gid0" -p $e2e_port -n 100 -- \
		ibv_rc_pingpong -d weft1 -g "$gid1" -p $e2e_port -n 100 127.0.0.1
}

# on KIND: everything that holds for each kind of port on a kernel's interface.
on() {
	kind=$1
	before=$(unreachables)
	daemons "$kind" ''
	verdict $? "$kind: two daemons start" "GIDs $gid0, $gid1"
	transfers
	gid0=$(gid_index weft0 fd99::) gid1=$(gid_index weft1 fd99::)
	quick
	verdict $? "$kind: over IPv6"
	gid0=$(gid_index weft0 '::ffff:10\.') gid1=$(gid_index weft1 '::ffff:10\.')

	next_port
	beside_tcp both $e2e_limit ib_write_bw -d weft0 -x "$gid0" -F -p $e2e_port -s 65536 -n 500 -- \
		ib_write_bw -d weft1 -x "$gid1" -F -p $e2e_port -s 65536 -n 500 127.0.0.1
	verdict $? "$kind: WRITEs and TCP on the same interfaces" \
		"TCP $(sed -n 's/.* \([0-9.]* [MG]bits.sec\).*receiver/\1/p' "$e2e_dir/iperf3")"
	$in0 ping -q -c 3 -i 0.2 -W 2 10.99.0.11 >"$e2e_dir/client" 2>&1 &&
		$in0 ping -q -c 3 -i 0.2 -W 2 fd99::11 >>"$e2e_dir/client" 2>&1
	verdict $? "$kind: the kernels answer pings"
	[ "$(unreachables)" = "$before" ]
	verdict $? "$kind: no kernel has answered a RoCE packet"

	$in0 "$WEFTD" "$e2e_dir/second.conf" >"$e2e_dir/client" 2>&1
	[ $? = 1 ] && grep -q "weft0 is in use by a port of process $pid0" "$e2e_dir/client"
	verdict $? "$kind: a second daemon on the interface is refused, the first one named"

	ip -n $ns0 link set weft0 down
	sleep 0.3
	! quick
	verdict $? "$kind: nothing goes while the interface is down"
	ip -n $ns0 link set weft0 up
	# It went with the link.
	ip -n $ns0 addr add fd99::10/64 dev weft0 nodad
	sleep 1.5
	quick
	verdict $? "$kind: it goes on when the interface is up again"

	kill -9 "$pid0"
	wait "$pid0" 2>/dev/null
	daemon_on 0
	verdict $? "$kind: a daemon that was killed starts again"
	quick
	verdict $? "$kind: its successor is as good"
	daemons_end

	if net_vlan weft 7 10.99.7; then
		daemons "$kind" .7 && quick
		verdict $? "$kind: on a VLAN's interface"
		daemons_end
		ip -n $ns0 link del weft0.7
		ip -n $ns1 link del weft1.7
	fi
}

export WEFT_RUNTIME_DIR="$e2e_dir"
net_or_skip weft 9000 10.99.0 fd99

# The control: what the kernel does where weft is not.
before=$(unreachables)
$in0 bash -c 'echo >/dev/udp/10.99.0.11/4791'
sleep 0.1
[ "$(unreachables)" -gt "$before" ]
verdict $? "a kernel without weft answers port unreachable"
printf '[nic second]\nport = af_packet:weft0\n' >"$e2e_dir/second.conf"

on af_packet
# What the driver of veth can give to XDP fits a page.
for side in 0 1; do
	eval "ip -n \$ns$side link set weft$side mtu 3498"
done
on af_xdp

e2e_stop $e2e_pids
net_close
e2e_end
