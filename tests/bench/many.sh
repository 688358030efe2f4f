#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A program with 1,000 active of 10,000 connected QPs beside one with 16, by turns, between the two NICs of
# one weftd; medians of RUNS rounds. It judges no times: the exit code is 0 if all ran.
#   many.sh BUILD_DIR [RUNS [MS]]
set -u
many_here=$(dirname "$0")
many_build=${1:?usage: many.sh BUILD_DIR [RUNS [MS]]}
many_runs=${2:-5}
many_ms=${3:-2000}
WEFTD=$many_build/daemon/weftd
WEFT_RUN=$many_build/tools/run/weft-run
WEFT_SHARE=$many_build/tests/e2e/share
WEFT_CONF=$many_here/../../conf/loopback.conf
export WEFTD WEFT_RUN WEFT_SHARE WEFT_CONF
# shellcheck source=tests/e2e/lib.sh
. "$many_here/../e2e/lib.sh"
# shellcheck source=tests/e2e/beside.sh
. "$many_here/../e2e/beside.sh"

# shellcheck source=tests/bench/samples.sh
. "$many_here/samples.sh"

bench_needs ibv_devinfo "$WEFTD" "$WEFT_RUN" "$WEFT_SHARE"

# alone "QPS[/CONNECTED] BYTES DEPTH": bytes and ns of the daemon go to $many_round.
alone() {
	beside "$many_ms" "$1" || {
		echo "failed:"
		tail -n 5 "$e2e_dir/client" "$e2e_dir/weftd"
		e2e_abort
	}
	many_round="$many_round $beside_a $beside_ns"
}

# column EXPRESSION: median of a round's bytes $1 and ns $2 of few QPs, $3 and $4 of many.
column() {
	printf '%.3g' "$(median round "$1")"
}

e2e_start
many_n=0
while [ $many_n -lt "$many_runs" ]; do
	many_round=
	alone "16 4096 64"
	alone "1000/10000 4096 16"
	sample round "$many_round"
	many_n=$((many_n + 1))
done
many_gbps="8e-6 / $many_ms"
cat <<END
WRITEs of 4 KB, up to 1,024 and 16,000 outstanding; medians of $many_n rounds. By time: bytes per second of the
daemon, whatever else the machine does.

| QPs active / connected | Gb/s | daemon, ns per message | throughput | by time (0.85) |
| ---------------------: | ---: | ---------------------: | ---------: | -------------: |
| 16 / 16 | $(column "\$1 * $many_gbps") | $(column "\$2 / \$1 * 4096") | | |
| 1,000 / 10,000 | $(column "\$3 * $many_gbps") | $(column "\$4 / \$3 * 4096") | $(column "\$3 / \$1") | $(column "\$3 / \$4 / (\$1 / \$2)") |
END
trap - EXIT INT TERM
# shellcheck disable=SC2086 # pids
e2e_stop $e2e_pids
rm -rf "$e2e_dir"
