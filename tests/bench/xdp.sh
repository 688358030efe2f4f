#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What an af_xdp port does on a veth pair, beside dpdk-testpmd with DPDK's net_af_xdp on the same
# pair, in turns: packets/s that arrive, medians of the seconds of all rounds. It judges no times.
#   tests/bench/xdp.sh PORT_RATE [ROUNDS [FRAME_BYTES]]
set -u
export LC_ALL=C
port_rate=${1:?usage: tests/bench/xdp.sh PORT_RATE [ROUNDS [FRAME_BYTES]]}
rounds=${2:-3}
bytes=${3:-1024}
seconds=5
cpus=0-$(($(nproc --all) - 1))
# shellcheck source=tests/e2e/net.sh
. "$(dirname "$0")/../e2e/net.sh"

skip() {
	echo "not measured: $1"
	exit 77
}

for program in ip dpdk-testpmd; do
	command -v $program >/dev/null 2>&1 || skip "$program is not installed (Debian: dpdk-dev, iproute2)"
done
dir=$(mktemp -d)
pids=
# shellcheck disable=SC2086 # pids
end() {
	trap - EXIT INT TERM
	[ -z "$pids" ] || kill $pids 2>/dev/null
	wait
	net_close
	rm -rf "$dir"
}
trap end EXIT
trap 'end; exit 1' INT TERM
net_open weft 3498 2>"$dir/why" || skip "$(tail -n 1 "$dir/why")"
# Not even neighbour discovery of the kernels beside it.
for ns in "$ns0" "$ns1"; do
	ip netns exec "$ns" sysctl -q net.ipv6.conf.all.disable_ipv6=1 2>/dev/null
done
sleep 1

# testpmd SIDE NAMESPACE MODE SECONDS: its packets/s, a line each.
testpmd() {
	XDG_RUNTIME_DIR="$dir" timeout -s INT -k 5 "$4" ip netns exec "$2" dpdk-testpmd --no-huge -m 256 --no-pci \
		--no-shconf --no-telemetry --iova-mode va --lcores "0@($cpus),1@($cpus)" \
		--vdev "net_af_xdp0,iface=weft$1" -- --forward-mode="$3" --txpkts="$bytes" \
		--total-num-mbufs=8192 --no-lsc-interrupt --stats-period=1 \
		>"$dir/testpmd$1" 2>&1 </dev/null
}

# median FILE...: of the lines that are not 0.
median() {
	cat "$@" | awk '$1 > 0' | sort -n | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : 0 }'
}

for round in $(seq "$rounds"); do
	testpmd 1 "$ns1" rxonly $((seconds + 4)) &
	pids=$!
	sleep 2
	testpmd 0 "$ns0" txonly "$seconds"
	wait
	sed -n 's/.*Rx-pps:  *\([0-9]*\).*/\1/p' "$dir/testpmd1" >"$dir/their.$round"

	for kind in af_xdp af_packet; do
		ip netns exec "$ns1" "$port_rate" $kind weft1 rx "$bytes" $((seconds + 2)) >"$dir/$kind.$round" &
		pids=$!
		sleep 1
		ip netns exec "$ns0" "$port_rate" $kind weft0 tx "$bytes" "$seconds" >"$dir/$kind.tx.$round"
		wait
		sed -i '1d;$d' "$dir/$kind.$round"
	done
	pids=
done

their=$(median "$dir"/their.*)
[ "$their" -gt 0 ] || {
	tail -n 5 "$dir"/testpmd*
	echo "dpdk-testpmd moved nothing"
	exit 1
}
echo "$bytes-byte frames over veth, packets/s that arrive, medians of $rounds rounds of $seconds s"
printf '%-34s %10s\n' "dpdk-testpmd, net_af_xdp" "$their"
for kind in af_xdp af_packet; do
	ours=$(median "$dir/$kind".[0-9]*)
	printf '%-34s %10s   %s x testpmd\n' "weft $kind" "$ours" \
		"$(awk "BEGIN { printf \"%.2f\", $ours / $their }")"
done
