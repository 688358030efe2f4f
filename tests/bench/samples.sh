# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2034,SC2086,SC2154 # bench_failed; pids; of lib.sh
# What benchmarks of programs have in common: figures that are collected and then summed up. Behind
# e2e/lib.sh.

# bench_needs PROGRAM...: without one of them nothing is measured.
bench_needs() {
	for bench_program; do
		command -v "$bench_program" >/dev/null 2>&1 || {
			echo "$bench_program is missing: nothing measured"
			trap - EXIT INT TERM
			rm -rf "$e2e_dir"
			exit 77
		}
	done
}

# bench_end COMMAND: nothing more to be measured, or interrupted; COMMAND first.
bench_end() {
	trap - EXIT INT TERM
	"$1"
	e2e_stop $e2e_pids
	rm -rf "$e2e_dir"
	[ -z "$bench_failed" ]
	exit
}

# sample NAME VALUE: one run's result, nothing if it is empty.
sample() {
	[ -z "$2" ] || echo "$2" >>"$e2e_dir/sample.$1"
}

# median NAME [EXPRESSION]: of the first word of each sample, or of what awk makes of its words; nothing if there is
# none.
median() {
	[ ! -s "$e2e_dir/sample.$1" ] ||
		awk "{ print ${2-\$1} }" "$e2e_dir/sample.$1" | sort -g |
		awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# spread NAME: least and greatest.
spread() {
	[ ! -s "$e2e_dir/sample.$1" ] ||
		sort -g "$e2e_dir/sample.$1" |
		awk 'NR == 1 { least = $1 } END { printf "%.4g to %.4g\n", least, $1 }'
}

# perftest_figure COLUMN: of the client's row: 4 is the mean of a bandwidth, 5 messages or the typical latency.
perftest_figure() {
	grep -E '^ *[0-9]+ +[0-9]+ +[0-9]+\.[0-9]' "$e2e_dir/client" |
		awk -v column="$1" 'END { print $column }'
}

# pair_figure NAME COLUMN PROGRAM OPTIONS...: a column of the client's row, between $dev0 and $dev1; bench_failed is yes
# if there is none.
pair_figure() {
	bench_name=$1
	bench_column=$2
	bench_program=$3
	shift 3
	next_port
	if both 60 "$bench_program" -d "$dev0" -x "$gid0" -F -p "$e2e_port" "$@" -- \
		"$bench_program" -d "$dev1" -x "$gid1" -F -p "$e2e_port" "$@" 127.0.0.1; then
		sample "$bench_name" "$(perftest_figure "$bench_column")"
	else
		bench_failed=yes
		echo "failed: $bench_name"
		tail -n 3 "$e2e_dir/client" "$e2e_dir/server"
	fi
}

# cpu_ticks PID...: of all their threads, user and kernel, in 1/$(getconf CLK_TCK) s.
cpu_ticks() {
	for bench_pid; do
		sed 's/.*) //' "/proc/$bench_pid/stat"
	done | awk '{ n += $12 + $13 } END { print n }'
}
