#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A NIC follows its interface of the kernel: what `ip` does is seen by programs.
# shellcheck disable=SC2154,SC2086 # set by lib.sh; words of numbers and commands
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/net.sh
. "$(dirname "$0")/net.sh"

e2e_needs ibv_rc_pingpong ip
seen=$e2e_dir/follow

# daemon SIDE: in its namespace, on its end of the link.
daemon() {
	printf '[nic weft%s]\nport = af_packet:weft%s\n' $1 $1 >"$e2e_dir/side$1.conf"
	eval "e2e_inside=\$in$1"
	$e2e_inside "$WEFTD" "$e2e_dir/side$1.conf" >>"$e2e_dir/weftd" 2>&1 &
	e2e_pids="$e2e_pids $!"
	eval "pid$1=$!"
	logged "ready at .*/side$1.sock"
}

# logged PATTERN: a daemon says so, within 10 s.
logged() {
	tries=0
	while ! grep -q -- "$1" "$e2e_dir/weftd" && [ $tries -lt 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	[ $tries -lt 100 ]
}

# follow_start [INDEX]: a program that tells what it sees of weft0; asked through descriptor 9.
follow_start() {
	rm -f "$e2e_dir/ask" "$seen"
	mkfifo "$e2e_dir/ask"
	(run "$WEFT_FOLLOW" weft0 "$@") <"$e2e_dir/ask" >"$seen" 2>&1 &
	follow_pid=$!
	e2e_pids="$e2e_pids $follow_pid"
	exec 9>"$e2e_dir/ask"
	told=0
	sees 0 '^end' >/dev/null
}

follow_end() {
	exec 9>&-
	wait $follow_pid
}

# sees LINE PATTERN: behind this line the program has seen it, or does within 10 s; prints where.
sees() {
	tries=0
	while [ $tries -lt 100 ]; do
		[ -f "$seen" ] && awk -v from="$1" -v want="$2" \
			'NR > from && $0 ~ want { print NR; found = 1; exit } END { exit !found }' "$seen" && return
		sleep 0.1
		tries=$((tries + 1))
	done
	return 1
}

# event TEXT: seen behind the last one that was.
event() {
	told=$(sees "$told" "^event $1")
}

# no_news: what was told until now is not waited for.
no_news() {
	sleep 0.5
	told=$(wc -l <"$seen")
}

# asked: the tables as they are.
asked() {
	before=$(wc -l <"$seen")
	echo >&9
	sees "$before" '^end' >/dev/null && tail -n +$((before + 1)) "$seen" >"$e2e_dir/tables"
}

# shows PATTERN: a line of the tables, or it becomes one within 10 s; shows_not: none.
shows() {
	rounds=0
	while asked && [ $rounds -lt 50 ]; do
		grep -q -- "$1" "$e2e_dir/tables" && return
		sleep 0.2
		rounds=$((rounds + 1))
	done
	return 1
}

shows_not() {
	rounds=0
	while asked && [ $rounds -lt 50 ]; do
		grep -q -- "$1" "$e2e_dir/tables" || return 0
		sleep 0.2
		rounds=$((rounds + 1))
	done
	return 1
}

# pings GID0 GID1: data goes between these addresses of the two devices.
pings() {
	next_port
	both $e2e_limit ibv_rc_pingpong -d weft0 -g "$(gid_index weft0 "$1")" -p $e2e_port -n 50 -- \
		ibv_rc_pingpong -d weft1 -g "$(gid_index weft1 "$2")" -p $e2e_port -n 50 127.0.0.1
}

export WEFT_RUNTIME_DIR="$e2e_dir"
net_or_skip weft 9000 10.98.0
ifindex=$($in0 cat /sys/class/net/weft0/ifindex)

# ---- start ----

printf '[nic weft0]\nport = af_packet:nothere\n' >"$e2e_dir/nothere.conf"
$in0 "$WEFTD" "$e2e_dir/nothere.conf" >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q "no interface nothere here; there are: .*weft0" "$e2e_dir/client"
verdict $? "an interface that does not exist is refused, with those that there are"

ip -n $ns1 addr flush dev weft1
ip -n $ns1 link set weft1 mtu 1500
daemon 1 && logged 'weft1 has only a link-local address'
verdict $? "an interface without addresses is told of"
logged 'nic weft1: .*; path MTU 1024 (mtu 1500)'
verdict $? "the MTU that counts is told at the start"
ip -n $ns1 link set weft1 mtu 9000
ip -n $ns1 addr add 10.98.0.11/24 dev weft1
ip -n $ns0 link set weft0 down
daemon 0 && follow_start && shows '^port down'
verdict $? "on an interface that is down the device is there, its port down"
$in0 "$WEFTD" --check "$e2e_dir/side0.conf" >"$e2e_dir/client" 2>&1 && grep -q 'no mistakes' "$e2e_dir/client" &&
	grep -q "side0.conf:2: warning: weft0 is in use by process $pid0: a start fails" "$e2e_dir/client"
verdict $? "a check names who has the interface just now"
printf '[nic a]\nport = af_packet:weft0\n[nic b]\nport = af_xdp:weft0\n' >"$e2e_dir/twice.conf"
! $in0 "$WEFTD" --check "$e2e_dir/twice.conf" >"$e2e_dir/client" 2>&1 &&
	grep -q 'twice.conf:4: weft0 has the port of line 2 already' "$e2e_dir/client"
verdict $? "an interface has one port in a conf file"
if (exec setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$WEFTD") 2>/dev/null; then
	chmod 755 "$e2e_dir"
	! $in0 setpriv --reuid=65534 --regid=65534 --clear-groups "$WEFTD" --check "$e2e_dir/side0.conf" \
		>"$e2e_dir/client" 2>&1 && grep -q 'side0.conf:2: weft0: .*needs CAP_NET_RAW' "$e2e_dir/client"
	verdict $? "a check tells of privileges that are missing"
	sed '1i [daemon]\ngroup = root' "$WEFT_CONF" >"$e2e_dir/group.conf"
	! setpriv --reuid=65534 --regid=65534 --clear-groups "$WEFTD" --check "$e2e_dir/group.conf" \
		>"$e2e_dir/client" 2>&1 && grep -q 'user 65534 is not in it .*SupplementaryGroups=root' "$e2e_dir/client"
	verdict $? "and of a group that the daemon is not in"
	chmod 700 "$e2e_dir"
else
	verdict 0 "a check tells of privileges that are missing # SKIP a build that not every user may read"
fi
ip -n $ns0 link set weft0 up
event 'port active' && shows '^port active'
verdict $? "when it comes up the port is active"

# ---- addresses ----

local_address=
tries=0
while [ -z "$local_address" ] && [ $tries -lt 100 ]; do
	sleep 0.1
	local_address=$(ip -n $ns0 -6 addr show dev weft0 scope link -tentative |
		sed -n 's/.*inet6 \([^/]*\).*/\1/p')
	tries=$((tries + 1))
done
shows "^gid 0 $local_address if $ifindex" && shows "^gid 1 ::ffff:10.98.0.10 if $ifindex"
verdict $? "GID 0 is the kernel's link-local address, then comes the IPv4 one" "$local_address"

ip -n $ns0 addr add 10.98.0.20/24 dev weft0
event 'GID table change' && shows "^gid 2 ::ffff:10.98.0.20 "
verdict $? "an IPv4 address comes"
ip -n $ns0 addr add fd98::10/64 dev weft0
event 'GID table change' && shows "^gid 3 fd98::10 "
verdict $? "an IPv6 address comes when the kernel knows that nobody else has it"
ip -n $ns0 addr del 10.98.0.20/24 dev weft0
event 'GID table change' && shows_not "10.98.0.20 " && shows "^gid 3 fd98::10 "
verdict $? "one leaves, and the others keep their indices"
ip -n $ns0 addr add 10.98.0.21/24 dev weft0
shows "^gid 2 ::ffff:10.98.0.21 "
verdict $? "a new one takes the free index"
logged 'weft0: GID 2, 10.98.0.20 has left' && logged 'weft0: GID 2, 10.98.0.21$'
verdict $? "the log tells of each"

# ---- MTU, MAC, link ----

ip -n $ns0 link set weft0 mtu 1500
shows '^port active mtu 1024' && logged 'weft0: MTU 1500, path MTU 1024'
verdict $? "active_mtu follows the MTU down"
ip -n $ns0 link set weft0 mtu 9000
shows '^port active mtu 4096'
verdict $? "and up"
pings '::ffff:10\.98\.0\.10' '::ffff:10'
verdict $? "data goes"
ip -n $ns1 link set weft1 address 02:00:00:98:00:77
logged 'weft1: weft1 has MAC 02:00:00:98:00:77 now'
verdict $? "another MAC of the interface is taken"
pings '::ffff:10\.98\.0\.10' '::ffff:10'
verdict $? "data goes to it"
no_news
ip -n $ns1 link set weft1 down
event 'port error' && shows '^port down'
verdict $? "a peer that goes down takes the carrier: port error"
ip -n $ns1 link set weft1 up
event 'port active' && shows '^port active'
verdict $? "it comes back"

# ---- neighbours and routes are the kernel's ----

# What the kernels knew of each other went with the carrier, and they ask once a second.
sleep 1.5
pings '::ffff:10\.98\.0\.10' '::ffff:10' && ip -n $ns0 neigh show dev weft0 |
	grep -q '^10.98.0.11 .*02:00:00:98:00:77'
verdict $? "the kernel has found the neighbour"
ip -n $ns0 neigh replace 10.98.0.11 lladdr 02:00:00:98:00:01 nud permanent dev weft0
sleep 0.3
! pings '::ffff:10\.98\.0\.10' '::ffff:10'
verdict $? "a neighbour that was set by hand is believed"
ip -n $ns0 neigh del 10.98.0.11 dev weft0
pings '::ffff:10\.98\.0\.10' '::ffff:10'
verdict $? "and looked for again when it is deleted"
ip -n $ns1 addr add 10.50.0.1/32 dev weft1
ip -n $ns0 route add 10.50.0.1/32 via 10.98.0.11 dev weft0
logged 'GID [0-9]*, 10.50.0.1$' && pings '::ffff:10\.98\.0\.10' '::ffff:10\.50' &&
	! ip -n $ns0 neigh show dev weft0 | grep -q '^10.50.0.1 '
verdict $? "another network is reached by the kernel's route through a gateway"

# ---- VLANs ----

if net_vlan weft 5 10.98.5; then
	vlan_ifindex=$($in0 cat /sys/class/net/weft0.5/ifindex)
	shows "^gid [0-9]* ::ffff:10.98.5.10 if $vlan_ifindex"
	verdict $? "an address of a VLAN is a GID"
	pings '::ffff:10\.98\.5' '::ffff:10\.98\.5'
	verdict $? "data goes in the VLAN"
	ip -n $ns0 link del weft0.5
	shows_not '10.98.5.10 '
	verdict $? "and it leaves with the VLAN"
else
	echo "# no VLANs in this kernel"
fi
follow_end
verdict $? "the program saw no error"

# ---- QPs ----

follow_start "$(gid_index weft0 '::ffff:10\.98\.0\.21')"
ip -n $ns0 addr del 10.98.0.21/24 dev weft0
event 'local work queue catastrophic error' && logged 'its address 10.98.0.21 left the interface'
verdict $? "a QP whose address leaves fails and says why"

# ---- the end of an interface ----

ip -n $ns1 link set weft1 name lan1
logged 'interface weft1 is called lan1 now'
verdict $? "a new name is told"
no_news
ip -n $ns1 link del lan1
event 'port error' && logged 'interface weft0 is gone'
verdict $? "an interface that is gone is a link that is down"
ip link add weft0 index $ifindex netns $ns0 type veth peer name weft1 netns $ns1
ip -n $ns1 link set weft1 up && ip -n $ns0 link set weft0 up && ip -n $ns0 addr add 10.98.0.10/24 dev weft0
no_news
shows '^port down' && shows_not '10.98.0.10 ' && [ "$($in0 cat /sys/class/net/weft0/ifindex)" = "$ifindex" ]
verdict $? "and stays so when another comes with its name and index"
follow_end
e2e_signal 0 "$pid0" && e2e_signal 0 "$pid1"
verdict $? "both daemons live"

e2e_stop $e2e_pids
net_close
e2e_end
