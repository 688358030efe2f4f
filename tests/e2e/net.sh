# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2034,SC2154 # of its users, of lib.sh
# Two network namespaces joined by a veth pair, in place of two machines. Behind nothing, or lib.sh.

ns0=weft-0-$$
ns1=weft-1-$$
in0="ip netns exec $ns0"
in1="ip netns exec $ns1"

# net_open INTERFACE MTU [NETWORK [NETWORK6]]: the namespaces $ns0 and $ns1 with INTERFACE0 and INTERFACE1, up,
# with the addresses NETWORK.10/24 and .11, NETWORK6::10/64 and ::11. Programs in them begin with $in0 or $in1.
# 1, with the reason on standard error, where that can't be had.
net_open() {
	[ "$(id -u)" = 0 ] || {
		echo "network namespaces need root" >&2
		return 1
	}
	ip netns add "$ns0" && ip netns add "$ns1" &&
		ip link add "${1}0" netns "$ns0" type veth peer name "${1}1" netns "$ns1" || return
	net_end "$ns0" "${1}0" "$2" ${3:+"$3.10"} ${4:+"$4::10"} &&
		net_end "$ns1" "${1}1" "$2" ${3:+"$3.11"} ${4:+"$4::11"} &&
		net_wait "$ns0" "${1}0" && net_wait "$ns1" "${1}1"
}

# net_end NAMESPACE INTERFACE MTU ADDRESS...
net_end() {
	net_ns=$1 net_if=$2
	ip -n "$net_ns" link set lo up && ip -n "$net_ns" link set "$net_if" mtu "$3" up || return
	shift 3
	for net_ip; do
		case $net_ip in
		*:*) ip -n "$net_ns" addr add "$net_ip/64" dev "$net_if" nodad ;;
		*) ip -n "$net_ns" addr add "$net_ip/24" dev "$net_if" ;;
		esac || return
	done
}

# net_wait NAMESPACE INTERFACE: until its carrier is there, 5 s at most.
net_wait() {
	net_tries=0
	until ip -n "$1" -br link show "$2" | grep -q ' UP ' || [ $net_tries = 50 ]; do
		sleep 0.1
		net_tries=$((net_tries + 1))
	done
	[ $net_tries -lt 50 ]
}

# net_vlan INTERFACE VLAN NETWORK: the kernels' own interfaces of a VLAN; 1 where the kernel has none.
net_vlan() {
	for net_side in 0 1; do
		eval "net_ns=\$ns$net_side"
		net_if=$1$net_side
		ip -n "$net_ns" link add link "$net_if" name "$net_if.$2" type vlan id "$2" 2>/dev/null &&
			ip -n "$net_ns" link set "$net_if.$2" up &&
			ip -n "$net_ns" addr add "$3.1$net_side/24" dev "$net_if.$2" || return
	done
}

# net_close: the namespaces, and with them all that is in them.
net_close() {
	ip netns del "$ns0" 2>/dev/null
	ip netns del "$ns1" 2>/dev/null
}

# net_or_skip ARGUMENT...: net_open for a test behind lib.sh, which is skipped where that fails; net_close at its end.
net_or_skip() {
	trap 'net_close; e2e_abort' EXIT INT TERM
	net_open "$@" 2>"$e2e_dir/client" && return
	echo "1..0 # SKIP no network namespaces: $(tail -n 1 "$e2e_dir/client")"
	trap - EXIT INT TERM
	net_close
	rm -rf "$e2e_dir"
	exit 0
}
