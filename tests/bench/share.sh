#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a program with one QP keeps of its throughput beside a program with 1,000 greedy ones, between the
# two NICs of one weftd: medians of RUNS rounds, each alone and then beside the others, so that what
# else happens on the machine meets both alike. It judges no times: the exit code is 0 if all ran.
#   share.sh BUILD_DIR [RUNS [MS]]
set -u
share_here=$(dirname "$0")
share_build=${1:?usage: share.sh BUILD_DIR [RUNS [MS]]}
share_runs=${2:-5}
share_ms=${3:-2000}
WEFTD=$share_build/daemon/weftd
WEFT_RUN=$share_build/tools/run/weft-run
WEFT_SHARE=$share_build/tests/e2e/share
WEFT_CONF=$share_here/../../conf/loopback.conf
export WEFTD WEFT_RUN WEFT_SHARE WEFT_CONF
# shellcheck source=tests/e2e/lib.sh
. "$share_here/../e2e/lib.sh"
# shellcheck source=tests/e2e/beside.sh
. "$share_here/../e2e/beside.sh"
# shellcheck source=tests/bench/samples.sh
. "$share_here/samples.sh"

bench_needs ibv_devinfo "$WEFTD" "$WEFT_RUN" "$WEFT_SHARE"

share_failed=0
# round NAME "QPS BYTES DEPTH": of the others.
round() {
	beside "$share_ms" "1 65536 512" || share_failed=1
	share_solo="$beside_a $beside_ns"
	beside "$share_ms" "1 65536 512" "$2" || share_failed=1
	[ $share_failed = 0 ] || return
	sample "$1" "$share_solo $beside_a $beside_b $beside_ns"
}

# column NAME EXPRESSION: median of a round's $1 bytes alone in $2 ns of the daemon, $3 beside the others' $4 in
# $5 ns.
column() {
	printf '%.3g' "$(median "$1" "$2")"
}

e2e_start
share_n=0
while [ $share_n -lt "$share_runs" ] && [ $share_failed = 0 ]; do
	round 65536 "1000 65536 4"
	round 4096 "1000 4096 16"
	round 64 "1000 64 64"
	share_n=$((share_n + 1))
done
if [ $share_failed != 0 ]; then
	echo "failed:"
	tail -n 5 "$e2e_dir/client" "$e2e_dir/server" "$e2e_dir/weftd"
	e2e_abort
fi
share_gbps="8e-6 / $share_ms"
cat <<END
One QP with WRITEs of 64 KB, alone and beside 1,000 QPs of another program; medians of $share_n rounds.
The share by time is that of bytes per second of the daemon, whatever else the machine does.

| the others' WRITEs | alone, Gb/s | beside them | the others | share | by time |
| -----------------: | ----------: | ----------: | ---------: | ----: | ------: |
END
for share_size in 65536 4096 64; do
	printf '| %16s B | %11s | %11s | %10s | %5s | %7s |\n' $share_size \
		"$(column $share_size "\$1 * $share_gbps")" "$(column $share_size "\$3 * $share_gbps")" \
		"$(column $share_size "\$4 * $share_gbps")" "$(column $share_size "\$3 / \$1")" \
		"$(column $share_size "\$3 / \$5 / (\$1 / \$2)")"
done
trap - EXIT INT TERM
# shellcheck disable=SC2086 # pids
e2e_stop $e2e_pids
rm -rf "$e2e_dir"
