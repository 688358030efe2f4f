#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The figures of docs/performance.md in one run: unmodified programs of perftest between the two
# NICs of one weftd, beside the limit (limit.h), kernel TCP and the stack alone on the same machine.
# It goes through all of them RUNS times and prints medians, so that what else happens on the
# machine meets all alike. It judges no times: the exit code is 0 if everything ran.
# shellcheck source=tests/e2e/lib.sh
# shellcheck source=tests/e2e/net.sh
# shellcheck source=tests/bench/samples.sh
# shellcheck source=tests/bench/tcp.sh
bench_here=$(dirname "$0")

usage() {
	cat <<-'HELP'
		usage: tests/bench/e2e.sh [-n RUNS | --quick] [--profile DIR] [BUILD_DIR [CASE...]]

		  BUILD_DIR      where weft is built; default: build
		  CASE           only these: write_4096 write_1024 read_4096 send_4096 write_64 write_lat send_lat
		  -n RUNS        medians of so many; default 5
		  --quick        one run, and a tenth of the messages
		  --profile DIR  no table: each program once under 'perf record' of weftd; DIR/CASE.txt has the
		                 functions that the time went to
	HELP
}

bench_runs=5
bench_scale=1
bench_profile=
bench_build=
bench_only=
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	-n)
		bench_runs=${2-}
		shift
		;;
	--quick)
		bench_runs=1
		bench_scale=10
		;;
	--profile)
		bench_profile=${2-}
		[ -n "$bench_profile" ] || bench_runs=
		shift
		;;
	-*) bench_runs= ;;
	*) if [ -n "$bench_build" ]; then bench_only="$bench_only $1"; else bench_build=$1; fi ;;
	esac
	[ $# = 0 ] || shift
done
case $bench_runs in
'' | *[!0-9]* | 0)
	usage >&2
	exit 2
	;;
esac

bench_build=${bench_build:-build}
WEFTD=$bench_build/daemon/weftd
WEFT_RUN=$bench_build/tools/run/weft-run
bench_bin=$bench_build/tests/bench
WEFT_CONF=$bench_here/../../conf/loopback.conf
export WEFTD WEFT_RUN WEFT_CONF

. "$bench_here/../e2e/lib.sh"
. "$bench_here/../e2e/net.sh"
. "$bench_here/samples.sh"
. "$bench_here/tcp.sh"

bench_needs ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_send_lat ibv_devinfo \
	"$WEFTD" "$WEFT_RUN" "$bench_bin/bench_limit" "$bench_bin/bench_stack"
trap bench_abort EXIT
trap 'exit 130' INT TERM

# Seconds after which no further run begins: with the longest run behind it, still below the limit
# in meson.build.
bench_budget=240
bench_failed=
bench_begin=$(date +%s)

# shellcheck disable=SC2317 # from a trap
bench_abort() {
	trap - EXIT INT TERM
	tcp_close
	# shellcheck disable=SC2086 # pids
	e2e_stop $e2e_pids
	rm -rf "$e2e_dir"
	exit 1
}

# What is run: name, messages of each QP (enough for about a second), data packets per message of
# all QPs together, what perftest's row is read for, program and its options.
bench_cases='
write_4096  100000 16 gbps ib_write_bw -s 65536 -m 4096
write_1024   50000 64 gbps ib_write_bw -s 65536 -m 1024
read_4096   100000 16 gbps ib_read_bw -s 65536 -m 4096
send_4096   100000 16 gbps ib_send_bw -s 65536 -m 4096
write_64    500000  4 mpps ib_write_bw -s 64 -q 4 -m 4096
write_lat    20000  1 usec ib_write_lat -s 8
send_lat     20000  1 usec ib_send_lat -s 8
'

# calc EXPRESSION: with what decimals it needs; nothing if a term is missing.
calc() {
	case " $* " in *'  '*) return ;; esac
	awk "BEGIN { printf \"%.4g\", $* }"
}

# machine_ticks: all, idle and stolen ticks of the machine so far.
machine_ticks() {
	awk '$1 == "cpu" { print $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9, $5 + $6, $9 }' /proc/stat
}

# figure KIND: from the client's report.
figure() {
	case $1 in
	gbps) perftest_figure 4 ;;
	mpps | usec) perftest_figure 5 ;;
	esac
}

# run_case NAME MESSAGES PACKETS KIND PROGRAM OPTIONS...
run_case() {
	bench_name=$1
	bench_messages=$(($2 / bench_scale))
	bench_packets=$((bench_messages * $3))
	bench_kind=$4
	bench_program=$5
	shift 5
	case $bench_kind in gbps | mpps) set -- "$@" --report_gbits ;; esac
	set -- "$@" -F -n "$bench_messages"
	next_port
	bench_ticks=$(cpu_ticks "$e2e_daemon")
	if ! both 20 "$bench_program" -d "$dev0" -x "$gid0" -p "$e2e_port" "$@" -- \
		"$bench_program" -d "$dev1" -x "$gid1" -p "$e2e_port" "$@" 127.0.0.1; then
		bench_failed=yes
		echo "failed: $bench_program $*"
		tail -n 5 "$e2e_dir/client" "$e2e_dir/server" "$e2e_dir/weftd"
		if ! e2e_signal 0 "$e2e_daemon"; then
			echo "weftd has ended: no more is measured"
			bench_end tcp_close
		fi
	else
		bench_ticks=$(($(cpu_ticks "$e2e_daemon") - bench_ticks))
		sample "$bench_name" "$(figure "$bench_kind")"
		sample "$bench_name.cpu" \
			"$(calc "$bench_ticks * 1e9 / $(getconf CLK_TCK) / $bench_packets")"
	fi
}

# profile_case NAME ...: as run_case, under perf.
profile_case() {
	perf record -q -g -o "$bench_profile/$1.data" -p "$e2e_daemon" 2>/dev/null &
	bench_perf=$!
	sleep 0.3
	run_case "$@"
	e2e_signal INT $bench_perf
	wait $bench_perf
	perf report --stdio --no-children -g none -i "$bench_profile/$1.data" 2>/dev/null |
		sed '/^#/d; /^$/d' >"$bench_profile/$1.txt"
	printf '\n%s: %s, daemon %s ns per packet\n' "$1" "$(median "$1")" "$(median "$1.cpu")"
	head -n 25 "$bench_profile/$1.txt"
}

# each_case: run_case, or profile_case, of all.
each_case() {
	# Not from a pipe: what the functions set must stay.
	while read -r bench_row; do
		[ -n "$bench_row" ] || continue
		case "${bench_only:-${bench_row%% *}} " in
		*"${bench_row%% *} "*) ;;
		*) continue ;;
		esac
		# shellcheck disable=SC2086 # words
		if [ -n "$bench_profile" ]; then
			profile_case $bench_row </dev/null
		else
			run_case $bench_row </dev/null
		fi
	done <<-END
		$bench_cases
	END
}

e2e_start

if [ -n "$bench_profile" ]; then
	command -v perf >/dev/null 2>&1 || {
		echo "perf is not installed: nothing measured"
		exit 77
	}
	mkdir -p "$bench_profile"
	each_case
	bench_end tcp_close
fi

# How quiet the machine is before anything runs, and what its host takes from it meanwhile.
# shellcheck disable=SC2046 # three words
set -- $(machine_ticks)
sleep 1
# shellcheck disable=SC2046
set -- "$@" $(machine_ticks)
bench_idle=$(calc "100 * ($5 - $2) / ($4 - $1)")
bench_ticks0=$4
bench_stolen0=$6

bench_no_tcp=$(tcp_open) || echo "TCP is not measured: $bench_no_tcp"
bench_run=0
while [ $bench_run -lt "$bench_runs" ]; do
	bench_spent=$(($(date +%s) - bench_begin))
	if [ $((bench_spent + bench_spent / (bench_run + 1))) -gt $bench_budget ]; then
		echo "$bench_spent s have passed: medians of $bench_run runs"
		break
	fi
	bench_run=$((bench_run + 1))
	"$bench_bin/bench_limit" 4096 1024 >"$e2e_dir/limit" || bench_failed=yes
	while read -r bench_payload bench_ns; do
		sample "limit_$bench_payload" "$bench_ns"
	done <"$e2e_dir/limit"
	[ -n "$bench_no_tcp" ] || sample tcp "$(tcp_gbps 1)"
	each_case
done
# shellcheck disable=SC2034 # of bench_end
timeout 60 "$bench_bin/bench_stack" >"$e2e_dir/stack" || bench_failed=yes
# shellcheck disable=SC2046
set -- $(machine_ticks)
bench_steal=$(calc "100 * ($3 - $bench_stolen0) / ($1 - $bench_ticks0)")

# row WHAT VALUE UNIT RUNS [SENSE BOUND]: SENSE is '>=' or '<='; ratio is VALUE / BOUND.
row() {
	awk -v what="$1" -v value="$2" -v unit="$3" -v runs="$4" -v sense="${5-}" -v bound="${6-}" 'BEGIN {
		if (value == "") {
			text = "-"
		} else {
			text = sprintf("%.4g %s", value, unit)
			if (sense != "") {
				ratio = sprintf("%.2f", value / bound)
				reached = (sense == ">=" ? value + 0 >= bound + 0 : value + 0 <= bound + 0) ? "yes" : "NO"
			}
		}
		printf "| %-34s | %15s | %-18s | %-10s | %5s | %-7s |\n", what, text, runs,
			sense == "" ? "" : sense " " bound, ratio, reached
	}'
}

# measured WHAT NAME UNIT [SENSE BOUND]
measured() {
	row "$1" "$(median "$2")" "$3" "$(spread "$2")" "${4-}" "${5-}"
}

# compared WHAT VALUE UNIT_NAME UNIT SENSE BOUND: VALUE in medians of UNIT_NAME
compared() {
	row "$1" "$(calc "$2 / $(median "$3")")" "x $4" '' "$5" "$6"
}

# stack MTU: ratio of bench_stack's row of long messages.
stack() {
	awk -v mtu="$1" '$1 == mtu && $2 == 65536 { print $5 }' "$e2e_dir/stack"
}

bench_cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
cat <<END

machine: $bench_cpu, $(getconf _NPROCESSORS_ONLN) CPUs, Linux $(uname -r)
commit:  $(git -C "$bench_here" describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
quiet:   $bench_idle % idle before the first run; the host took $bench_steal % meanwhile
runs:    $bench_run; values are medians

| what                               |           value | least to most      | must reach | ratio | reached |
|------------------------------------|----------------:|--------------------|------------|------:|---------|
END
measured 'limit, 4096 B' limit_4096 ns
measured 'limit, 1024 B' limit_1024 ns
measured 'TCP, one stream over veth' tcp Gb/s
row 'stack alone, MTU 4096' "$(stack 4096)" 'x limit' '' '<=' 2
row 'stack alone, MTU 1024' "$(stack 1024)" 'x limit' '' '<=' 3
measured 'ib_write_bw -s 65536 -m 4096' write_4096 Gb/s '>=' 50
compared '  beside TCP' "$(median write_4096)" tcp TCP '>=' 2
measured '  daemon CPU per data packet' write_4096.cpu ns
compared '  beside the limit' "$(median write_4096.cpu)" limit_4096 limit '<=' 2.5
measured 'ib_write_bw -s 65536 -m 1024' write_1024 Gb/s '>=' 25
measured '  daemon CPU per data packet' write_1024.cpu ns
measured 'ib_read_bw -s 65536 -m 4096' read_4096 Gb/s
compared '  beside ib_write_bw' "$(median read_4096)" write_4096 write '>=' 0.85
measured '  daemon CPU per data packet' read_4096.cpu ns
measured 'ib_send_bw -s 65536 -m 4096' send_4096 Gb/s
compared '  beside ib_write_bw' "$(median send_4096)" write_4096 write '>=' 0.85
measured '  daemon CPU per data packet' send_4096.cpu ns
measured 'ib_write_bw -s 64 -q 4 -m 4096' write_64 M/s '>=' 2
measured '  daemon CPU per data packet' write_64.cpu ns
measured 'ib_write_lat -s 8, half round trip' write_lat us '<=' 6
measured 'ib_send_lat -s 8, half round trip' send_lat us '<=' 6

echo
cat "$e2e_dir/stack"
bench_end tcp_close
