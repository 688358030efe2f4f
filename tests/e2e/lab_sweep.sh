#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weft-lab sweep: one CSV, byte for byte, whatever made it: any number of jobs, shards, tasks of
# Slurm, mpirun, and what goes on after a kill -9.
#   WEFT_LAB          the program
#   WEFT_LAB_HAS_MPI  not empty: its module for MPI was built
# shellcheck disable=SC2086 # $parts, $long and $mpirun are words
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# Nothing of a Slurm or mpirun around us.
for name in $(env | sed -n 's/^\(SLURM_[A-Z_]*\|OMPI_[A-Z_]*\|PMIX_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done
cd "$e2e_dir" || exit 1

cat >s.scenario <<'SCENARIO'
[topology]
kind = star
hosts = 5
[workload a]
kind = incast
bytes = 2M
message = 20K
SCENARIO
# Twelve cells; one parameter has a comma, one a unit.
set -- s.scenario workload.a.senders=2..4 'link.all.fault_loss=0,0.1%' --seeds 1..2

# sweep NAME WORDS...: NAME.csv of the matrix, its output in client
sweep() {
	sweep_name=$1
	shift
	timeout 100 "$WEFT_LAB" sweep "$@" -o "$sweep_name.csv" >client 2>&1
}
# same NAME CODE WHAT: NAME.csv was made, with exit code CODE, and is as it must be
same() {
	[ "$2" = 0 ] && cmp -s a.csv "$1.csv"
	verdict $? "$3"
}
# rows NAME: in its journal
rows() {
	[ -f "$1.csv.journal" ] && sed -n '/^[0-9]/p' "$1.csv.journal" | wc -l || echo 0
}

sweep a "$@" --jobs 1 &&
	[ "$(wc -l <a.csv)" = 13 ] &&
	[ "$(head -n 1 a.csv | cut -d, -f1-5)" = cell,workload.a.senders,link.all.fault_loss,seed,status ] &&
	[ "$(grep -c ',ok,' a.csv)" = 12 ] && [ ! -e a.csv.journal ]
verdict $? "a row for each of 12 cells"
sweep b "$@" --jobs 4
same b $? "the same of four jobs"

parts=
for shard in 2 0 1; do
	sweep p$shard "$@" --shard $shard/3 || break
	parts="$parts p$shard.csv"
done
sweep c --merge $parts
same c $? "the same of three shards"
for task in 0 1; do
	SLURM_PROCID=$task SLURM_NTASKS=2 sweep d "$@" || break
done
sweep d --merge d.0-of-2.csv d.1-of-2.csv
same d $? "the same of two tasks of Slurm"

# Cells that last, so that somebody can die in the middle.
long="s.scenario workload.a.bytes=8M --seeds 1..36"
sweep long $long || echo "# no cells that last"
# has_rows NAME NUMBER: within 20 s
has_rows() {
	tries=0
	while [ "$(rows "$1")" -lt "$2" ] && [ $tries -lt 2000 ]; do
		sleep 0.01
		tries=$((tries + 1))
	done
}
for some in 2 5 8; do
	"$WEFT_LAB" sweep $long -o k.csv --jobs 2 >client 2>&1 &
	pid=$!
	has_rows k $some
	e2e_signal KILL $pid
	wait $pid 2>/dev/null
done
[ ! -e k.csv ] && [ "$(rows k)" -ge 8 ]
verdict $? "a sweep that was killed leaves no CSV" "$(rows k) rows in its journal"
sweep k $long && cmp -s long.csv k.csv
verdict $? "a sweep that was killed three times goes on"
[ "$(sed -n 's/^.*: \([0-9]*\) of 36 cells are done already$/\1/p' client)" -ge 8 ]
verdict $? "and does not begin anew"

sed -i 's/20K/21K/' s.scenario
sweep p0 "$@" --shard 0/3
[ $? = 2 ] && grep -q 'the scenario has changed' client
verdict $? "what has changed is not mixed with what was"
sed -i 's/21K/20K/' s.scenario
sweep bad "$@" workload.a.sender=1
[ $? = 2 ] && grep -q "'sender'" client
verdict $? "a mistake is told before anything is run"
sweep late s.scenario workload.a.senders=2,4 workload.a.bytes=20K,100G --timeout 3s
[ $? = 1 ] && [ "$(grep -c ',failed: longer than 3s,' late.csv)" = 2 ] &&
	[ "$(grep -c ',ok,' late.csv)" = 2 ] &&
	grep -q 'weft-lab run s.scenario workload.a.senders=4 workload.a.bytes=100G' client
verdict $? "cells that take too long are told, and lose no others"

if [ -z "${WEFT_LAB_HAS_MPI-}" ] || ! command -v mpirun >/dev/null 2>&1; then
	e2e_count=$((e2e_count + 1))
	echo "ok $e2e_count # SKIP Open MPI is not installed"
	e2e_end
fi
# On this machine only, whoever we are, and more ranks than cores.
# libmpi leaks, which a sanitizer build would take for ours.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated
mpirun="mpirun --oversubscribe -n 4"
# mpi NAME WORDS...
mpi() {
	sweep_name=$1
	shift
		timeout 100 $mpirun "$WEFT_LAB" sweep "$@" -o "$sweep_name.csv" >client 2>&1
}
mpi m "$@"
same m $? "the same of four ranks of mpirun"
$mpirun "$WEFT_LAB" sweep $long -o r.csv >client 2>&1 &
pid=$!
has_rows r 2
# mpirun's children are the ranks.
kill -KILL "$(tr ' ' '\n' <"/proc/$pid/task/$pid/children" | sed -n 3p)"
wait $pid 2>/dev/null
[ ! -e r.csv ] && [ "$(rows r)" -ge 2 ]
verdict $? "a rank that dies loses none of the rows" "$(rows r) rows"
sweep r $long && cmp -s long.csv r.csv
verdict $? "and the sweep goes on without mpirun"
mpi bad "$@" workload.a.sender=1
[ $? = 2 ] && [ "$(grep -c "'sender'" client)" = 1 ]
verdict $? "a mistake is told once by all ranks"
e2e_end
