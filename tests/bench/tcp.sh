# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# What kernel TCP does on this machine: one iperf3 stream over a veth pair between two network
# namespaces, which tcp_open makes and tcp_close removes. Needs root, and e2e_signal of e2e/lib.sh.

tcp_a=weft-bench-a-$$
tcp_b=weft-bench-b-$$
tcp_server=

# tcp_open: 1, with the reason on standard output, if it can't be measured here.
tcp_open() {
	for tcp_program in ip iperf3; do
		command -v $tcp_program >/dev/null 2>&1 || {
			echo "$tcp_program is not installed"
			return 1
		}
	done
	[ "$(id -u)" = 0 ] || {
		echo "network namespaces need root"
		return 1
	}
	tcp_link 2>/dev/null || {
		tcp_close
		echo "this machine makes no network namespaces with veth"
		return 1
	}
}

# tcp_link: two namespaces, joined.
tcp_link() {
	ip netns add "$tcp_a" && ip netns add "$tcp_b" &&
		ip -n "$tcp_a" link add veth0 type veth peer name veth0 netns "$tcp_b" &&
		ip -n "$tcp_a" addr add 10.78.0.1/24 dev veth0 &&
		ip -n "$tcp_b" addr add 10.78.0.2/24 dev veth0 &&
		ip -n "$tcp_a" link set veth0 up && ip -n "$tcp_b" link set veth0 up
}

# tcp_close: the namespaces, and with them the veth pair.
tcp_close() {
	[ -z "$tcp_server" ] || e2e_signal TERM "$tcp_server"
	ip netns del "$tcp_a" 2>/dev/null
	ip netns del "$tcp_b" 2>/dev/null
}

# tcp_gbps SECONDS: what the receiver saw; nothing if it failed.
tcp_gbps() {
	timeout $(($1 + 10)) ip netns exec "$tcp_a" iperf3 -s -1 >/dev/null 2>&1 &
	tcp_server=$!
	tcp_tries=0
	until ip netns exec "$tcp_a" cat /proc/net/tcp6 /proc/net/tcp 2>/dev/null |
		grep ':1451 [0-9A-F]*:0000 0A' >/dev/null; do
		tcp_tries=$((tcp_tries + 1))
		[ $tcp_tries -lt 50 ] || break
		sleep 0.05
	done
	timeout $(($1 + 10)) ip netns exec "$tcp_b" iperf3 -c 10.78.0.1 -t "$1" -f m 2>/dev/null |
		sed -n 's|.* \([0-9.]*\) Mbits/sec.*receiver.*|\1|p' | awk '{ printf "%.2f\n", $1 / 1000 }'
	wait "$tcp_server"
	tcp_server=
}
