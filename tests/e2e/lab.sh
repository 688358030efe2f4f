#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weft-lab run and check: shipped scenarios, what is written of a run, twice the same to the last byte,
# and exit codes.
#   WEFT_LAB        the program
#   WEFT_SCENARIOS  the folder of the shipped ones
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$e2e_dir" || exit 1
shipped=$WEFT_SCENARIOS

# lab WORDS...: its output in out, and its errors in client
lab() {
	timeout 100 "$WEFT_LAB" "$@" >out 2>client
}
# told CODE TEXT WORDS...: it ends with this code, and one line that has this text
told() {
	told_code=$1 told_text=$2
	shift 2
	lab "$@"
	[ $? = "$told_code" ] && [ "$(wc -l <client)" = 1 ] && grep -qF "$told_text" client
	verdict $? "$told_text"
}

for file in "$shipped"/*.scenario; do
	lab check "$file" && [ ! -s client ] && [ "$(wc -l <out)" = 1 ]
	verdict $? "no mistake and no doubt in ${file##*/}"
done

for run in 1 2; do
	mkdir "$run"
	lab run "$shipped/websearch.scenario" workload.web.flows=60 --seed 3 --csv "$run/csv" \
		--json "$run/json" --pcap "leaf0=$run/pcap" || break
	mv out "$run/out"
done
set -- 1/csv/*
diff -r 1/csv 2/csv >client && cmp 1/json 2/json >>client 2>&1 && cmp 1/pcap 2/pcap >>client 2>&1 &&
	[ $# -gt 5 ] && [ -s 1/pcap ] && grep -q '60 done of 60' 1/out
verdict $? "one seed gives the same CSV, JSON and pcapng twice, and a table"
lab run "$shipped/websearch.scenario" workload.web.flows=60 --seed 4 --json other -q &&
	! cmp -s 1/json other && [ ! -s out ] && [ ! -s client ]
verdict $? "another seed gives others, and quiet is without a word"

printf '[workload a]\nkind = long\nbytes = 10K\n[host]\nwidnow = 3\n' >bad.scenario
told 2 "bad.scenario:5: unknown key 'widnow' (nearest: 'window')" run bad.scenario
told 2 "bad.scenario:5: unknown key 'widnow' (nearest: 'window')" check bad.scenario
told 2 "command line: topology.hosts: [topology] hosts: " run "$shipped/incast.scenario" topology.hosts=65
told 2 "none.scenario: No such file or directory" run none.scenario
told 2 "unknown command 'rum'" rum
lab run x --hlep
[ $? = 2 ] && grep -q "^weft-lab run: .*'--hlep'" client && grep -q 'try --help' client
verdict $? "an unknown option is told with the command"
lab
[ $? = 2 ] && [ "$(grep -cE '^  (run|check|sweep|swarm) ' client)" = 4 ]
verdict $? "without a word all commands are named"
told 2 "weft-lab: --pcap: unknown node 'leaf0'" run "$shipped/incast.scenario" -q --pcap leaf0=f
lab run "$shipped/incast.scenario" -q --json /proc/none
[ $? = 2 ] && [ -s client ]
verdict $? "what cannot be written is a failure"
lab run "$shipped/incast.scenario" --json none/json
[ $? = 2 ] && [ -s client ] && [ ! -s out ]
verdict $? "a folder that is not there is told before the run"
timeout 100 "$WEFT_LAB" run "$shipped/incast.scenario" >/dev/full 2>client
[ $? = 2 ] && grep -q 'standard output' client
verdict $? "a table that nobody got is told"
lab check - <"$shipped/incast.scenario" && grep -q '^standard input: star' out
verdict $? "a scenario from a pipe"
head -c 9999 "$WEFT_LAB" >binary.scenario
lab run binary.scenario
[ $? = 2 ] && grep -q 'binary.scenario:1: not a text file' client && [ "$(wc -l <client)" -lt 4 ]
verdict $? "a file that is no text is told once"
told 2 "bad.scenario: Not a directory" swarm --seeds 1..2 -o bad.scenario
told 2 "a plain file, please" sweep - seed=1..2 -o sweep.csv

# catches_term PID
catches_term() {
	mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status") && [ $((0x$mask >> 14 & 1)) = 1 ]
}
"$WEFT_LAB" run "$shipped/long.scenario" workload.flow.bytes=1T sample=0 --json part >out 2>client &
pid=$!
tries=0
until catches_term $pid || [ $tries = 200 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
kill -TERM $pid
wait $pid
[ $? = 143 ] && grep -q 'stopped by SIGTERM' client && grep -q ' done of ' out && [ -s part ]
verdict $? "a signal ends a run, and what came of it is told"
lab --version && grep -q '^weft-lab [0-9]' out && lab --help && grep -q '^usage: weft-lab run' out
verdict $? "version and help"
e2e_end
