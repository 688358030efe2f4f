#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One scenario and one seed give the same CSV, JSON and pcapng to the last byte, whichever compiler made
# weft-lab, and at whichever level of optimisation: clang -O1 beside the build under test, and gcc and
# clang at -O0, -O2 and -O3 too in a long run. Each is built anew, 15 s on two cores.
#   WEFT_LAB          the program under test
#   WEFT_SOURCE_ROOT  where the others are built from
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

e2e_needs meson ninja gcc clang
cd "$e2e_dir" || exit 1

# Losses, doubles, overtaking, jitter, outages, pauses, marks, flowlets, random paths of many flows.
cat >faults.scenario <<'SCENARIO'
[lab]
seed = 11
probes = goodput, buffer, inflight
[topology]
kind = leaf-spine
rate = 97G
[host]
timeout = 6
traffic_class = 2
[switch]
lb = flowlet
buffer = 2M
ecn_kmin = 20K
ecn_kmax = 400K
pfc = 0
[port]
headroom = 40K
[link all]
fault_loss = 0.3%
fault_rx_loss = 0.1%
fault_reorder = 0.2%
fault_duplicate = 0.2%
fault_jitter = 300ns
fault_delay = 500ns
[link leaf0-spine1]
fault_down_at = 100us
fault_down_for = 50us
[workload all]
kind = permutation
bytes = 1M
SCENARIO
# Sizes and times by random numbers and logarithms, two mixes at once.
cat >cdf.scenario <<'SCENARIO'
[lab]
seed = 12
probes = goodput, drops
[topology]
kind = fat-tree
[workload web]
kind = cdf
file = websearch
load = 0.4
flows = 40
[workload hadoop]
kind = cdf
file = fb_hadoop
verb = SEND
load = 0.2
flows = 300
SCENARIO
# Bytes that are there, and damaged.
cat >real.scenario <<'SCENARIO'
[lab]
seed = 13
payload = real
[topology]
kind = dumbbell
core_rate = 40G
[host]
timeout = 6
[link core]
fault_corrupt = 0.5%
fault_rx_corrupt = 0.2%
[workload read]
kind = incast
verb = READ
bytes = 300001
[workload ring]
kind = allreduce
bytes = 100K
SCENARIO

# results WEFT-LAB NAME: of all scenarios, in the folder NAME
results() {
	mkdir "$2" || return 1
	for scenario in faults cdf real; do
		node=h0
		[ $scenario = real ] || node=$([ $scenario = cdf ] && echo agg0 || echo leaf0)
		timeout 300 "$1" run $scenario.scenario --quiet --csv "$2/$scenario.csv" \
			--json "$2/$scenario.json" --pcap "$node=$2/$scenario.pcapng" >>client 2>&1 ||
			return 1
	done
}
# same NAME WHAT: as the first
same() {
	diff -rq first "$1" >client 2>&1
	verdict $? "$2"
}

results "$WEFT_LAB" first && [ "$(find first -type f -size +0 | wc -l)" -ge 24 ] &&
	[ -s first/faults.pcapng ] && ! cmp -s first/faults.json first/cdf.json
verdict $? "results of three scenarios"
results "$WEFT_LAB" again && same again "the same program again"

others=clang:1
[ -z "${WEFT_TEST_LONG-}" ] || others="clang:1 gcc:0 gcc:2 gcc:3 clang:0 clang:2 clang:3"
for other in $others; do
	compiler=${other%:*} level=${other#*:}
	CC=$compiler meson setup build-"$other" "$WEFT_SOURCE_ROOT" --buildtype=plain \
		-Doptimization="$level" -Ddebug=false -Dwerror=false >client 2>&1 &&
		ninja -C build-"$other" tools/lab/weft-lab >client 2>&1 &&
		results build-"$other"/tools/lab/weft-lab "$other"
	verdict $? "built by $compiler -O$level, and run"
	same "$other" "$compiler -O$level: the same to the last byte"
	rm -rf build-"$other"
done
e2e_end
