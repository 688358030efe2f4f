#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts and a switch in three processes beside the same in one: ib_write_bw, quiet and with a CPU
# hog for each core, ib_send_lat, and what idle daemons cost. All by turns, RUNS times; it prints
# medians, and judges no times: the exit code is 0 if everything ran.
# shellcheck disable=SC2086 # pids
bench_here=$(dirname "$0")
case ${1-} in
-n)
	bench_runs=${2:?-n RUNS}
	shift 2
	;;
-*)
	echo "usage: tests/bench/processes.sh [-n RUNS] [BUILD_DIR]" >&2
	exit 2
	;;
*) bench_runs=5 ;;
esac
bench_build=${1:-build}
WEFTD=$bench_build/daemon/weftd
WEFT_RUN=$bench_build/tools/run/weft-run
WEFT_CONF=$bench_here/../../conf/loopback.conf
export WEFTD WEFT_RUN WEFT_CONF

# shellcheck source=tests/e2e/lib.sh
. "$bench_here/../e2e/lib.sh"
# shellcheck source=tests/bench/samples.sh
. "$bench_here/samples.sh"

bench_needs ib_write_bw ib_send_lat ibv_devinfo "$WEFTD" "$WEFT_RUN"

bench_failed=
bench_hogs=

trap 'bench_failed=yes; bench_end hogs_end' EXIT INT TERM

# One for each core.
hogs_start() {
	for bench_cpu in $(seq "$(getconf _NPROCESSORS_ONLN)"); do
		sh -c 'while :; do :; done' &
		bench_hogs="$bench_hogs $!"
	done
	: "$bench_cpu"
}

hogs_end() {
	for bench_pid in $bench_hogs; do
		e2e_signal KILL "$bench_pid"
		wait "$bench_pid" 2>/dev/null
	done
	bench_hogs=
}

# idle_share NAME: percent of a core that a daemon takes while nobody does anything.
idle_share() {
	sleep 0.5
	bench_ticks=$(cpu_ticks $e2e_daemon)
	sleep 3
	sample "$1" "$(echo "$bench_ticks $(cpu_ticks $e2e_daemon) $e2e_daemon" |
		awk -v hz="$(getconf CLK_TCK)" '{ printf "%.2f", ($2 - $1) * 100 / hz / 3 / (NF - 2) }')"
}

# case_of SETUP
case_of() {
	WEFT_E2E_SETUP=$1
	e2e_start
	pair_figure "$1.write" 4 ib_write_bw -s 65536 -m 4096 --report_gbits -n 60000
	pair_figure "$1.lat" 5 ib_send_lat -s 8 -n 5000
	idle_share "$1.idle"
	hogs_start
	pair_figure "$1.hogs" 4 ib_write_bw -s 65536 -m 4096 --report_gbits -n 20000
	hogs_end
	e2e_stop $e2e_daemon
	e2e_daemon=
}

bench_load=$(cut -d ' ' -f 1-3 /proc/loadavg)
bench_run=0
while [ $bench_run -lt "$bench_runs" ]; do
	bench_run=$((bench_run + 1))
	case_of one
	case_of three
done

ratio() {
	echo "$(median "$1") $(median "$2")" | awk 'NF == 2 { printf "%.2f", $1 / $2 }'
}

# row WHAT NAME UNIT
row() {
	printf '| %-46s | %14s | %-16s |\n' "$1" "$(median "$2") $3" "$(spread "$2")"
}

echo "load: $bench_load at the start, $(cut -d ' ' -f 1-3 /proc/loadavg) at the end; $bench_runs runs, medians"
echo
printf '| %-46s | %14s | %-16s |\n' what value 'least to most'
echo '|------------------------------------------------|---------------:|------------------|'
row 'one process: ib_write_bw -s 65536 -m 4096' one.write Gb/s
row 'three: the same' three.write Gb/s
printf '| %-46s | %14s | %-16s |\n' '  beside one (0.5)' "$(ratio three.write one.write)" ''
row 'one, with two hogs' one.hogs Gb/s
printf '| %-46s | %14s | %-16s |\n' '  beside quiet (0.3)' "$(ratio one.hogs one.write)" ''
row 'three, with two hogs' three.hogs Gb/s
printf '| %-46s | %14s | %-16s |\n' '  beside quiet' "$(ratio three.hogs three.write)" ''
row 'one: ib_send_lat -s 8, half round trip' one.lat us
row 'three: the same' three.lat us
row 'one: an idle daemon (2)' one.idle '% of a core'
row 'three: an idle daemon (2)' three.idle '% of a core'
bench_end hogs_end
