# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154,SC2086 # of net.sh; words
# What kernel TCP does on this machine: one iperf3 stream over a veth pair between two network
# namespaces, which tcp_open makes and tcp_close removes. Needs root, behind e2e/lib.sh and e2e/net.sh.

tcp_server=

# tcp_open: 1, with the reason on standard output, if it can't be measured here.
tcp_open() {
	for tcp_program in ip iperf3; do
		command -v $tcp_program >/dev/null 2>&1 || {
			echo "$tcp_program is not installed"
			return 1
		}
	done
	net_open veth 1500 10.78.0 2>&1 || {
		tcp_close
		return 1
	}
}

# tcp_close: the namespaces, and with them the veth pair.
tcp_close() {
	[ -z "$tcp_server" ] || e2e_signal TERM "$tcp_server"
	net_close
}

# tcp_gbps SECONDS: what the receiver saw; nothing if it failed.
tcp_gbps() {
	timeout $(($1 + 10)) $in0 iperf3 -s -1 >/dev/null 2>&1 &
	tcp_server=$!
	tcp_tries=0
	until $in0 cat /proc/net/tcp6 /proc/net/tcp 2>/dev/null |
		grep ':1451 [0-9A-F]*:0000 0A' >/dev/null; do
		tcp_tries=$((tcp_tries + 1))
		[ $tcp_tries -lt 50 ] || break
		sleep 0.05
	done
	timeout $(($1 + 10)) $in1 iperf3 -c 10.78.0.10 -t "$1" -f m 2>/dev/null |
		sed -n 's|.* \([0-9.]*\) Mbits/sec.*receiver.*|\1|p' | awk '{ printf "%.2f\n", $1 / 1000 }'
	wait "$tcp_server"
	tcp_server=
}
