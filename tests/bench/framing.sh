#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The weft framing beside plain RoCEv2, both under go-back-N: ib_write_bw of 64 KB WRITEs, of a NIC to itself and between two
# NICs and a switch of one process. By turns, RUNS times; it prints medians, and judges no times: the exit code is 0 if
# everything ran.
# shellcheck disable=SC2086,SC2154 # pids; of lib.sh
bench_here=$(dirname "$0")
case ${1-} in
-n)
	bench_runs=${2:?-n RUNS}
	shift 2
	;;
-*)
	echo "usage: tests/bench/framing.sh [-n RUNS] [BUILD_DIR]" >&2
	exit 2
	;;
*) bench_runs=5 ;;
esac
bench_build=${1:-build}
WEFTD=$bench_build/daemon/weftd
WEFT_RUN=$bench_build/tools/run/weft-run
WEFT_CONF=$bench_here/../../conf/loopback.conf
export WEFTD WEFT_RUN WEFT_CONF
set --

# shellcheck source=tests/e2e/lib.sh
. "$bench_here/../e2e/lib.sh"
# shellcheck source=tests/bench/samples.sh
. "$bench_here/samples.sh"

bench_needs ib_write_bw ibv_devinfo "$WEFTD" "$WEFT_RUN"

bench_failed=
trap 'bench_failed=yes; bench_end true' EXIT INT TERM

# write_figures WHERE: from $dev0 to $dev1, with each path MTU.
write_figures() {
	for bench_mtu in 4096 1024; do
		pair_figure "$1.$bench_mtu.$e2e_framing" 4 ib_write_bw -s 65536 -m $bench_mtu --report_gbits \
			-n $((bench_mtu * 10))
	done
}

bench_both=$dev1
for bench_run in $(seq "$bench_runs"); do
	for e2e_framing in rocev2 weft; do
		e2e_start
		dev1=$dev0 gid1=$gid0
		write_figures self
		dev1=$bench_both gid1=$(gid_index $bench_both '::ffff:')
		write_figures two
		e2e_stop $e2e_daemon
		e2e_daemon=
	done
	[ ! -t 2 ] || printf '\r%s of %s' "$bench_run" "$bench_runs" >&2
done
[ ! -t 2 ] || echo >&2

echo "64 KB WRITEs, Gb/s, medians of $bench_runs: rocev2, weft, weft / rocev2"
for bench_row in self.4096 self.1024 two.4096 two.1024; do
	echo "$bench_row $(median $bench_row.rocev2) $(median $bench_row.weft)" |
		awk '{ printf "%-10s %8.2f %8.2f %8.2f\n", $1, $2, $3, $2 ? $3 / $2 : 0 }'
done

bench_end true
