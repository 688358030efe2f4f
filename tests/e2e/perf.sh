#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weft-perf between two network namespaces, over each kind of port that it can have there.
# shellcheck disable=SC2154,SC2086 # set by lib.sh; words of numbers and commands
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/net.sh
. "$(dirname "$0")/net.sh"

e2e_needs ip

# ends PORT0 PORT1 SERVER OPTION...: a client at side 0 and its server at side 1; both must be
# content. The client's output in out, and the row of its table in $row.
ends() {
	ends_port0=$1 ends_port1=$2 ends_server=$3
	shift 3
	next_port
	$in1 timeout -k 5 $e2e_limit "$WEFT_PERF" -p $e2e_port $options1 "$ends_port1" \
		>"$e2e_dir/server" 2>&1 &
	server_pid=$!
	e2e_pids="$e2e_pids $server_pid"
	$in0 timeout -k 5 $e2e_limit "$WEFT_PERF" -p $e2e_port $options0 "$@" \
		"$ends_port0" "$ends_server" >"$e2e_dir/out" 2>"$e2e_dir/client"
	client_code=$?
	# A server whose client gave up before it came waits for another.
	[ $client_code = 0 ] || e2e_signal TERM $server_pid
	wait $server_pid
	server_code=$?
	row=$(grep -A1 '#bytes' "$e2e_dir/out" | tail -n 1)
	[ $client_code$server_code = 00 ]
}

# over NAME PORT0 PORT1 SERVER
over() {
	name=$1
	shift
	for op in write read send; do
		ends "$@" -O $op -s 4096 -n "$(reps 500)" -q 4 --check
		verdict $? "$name: every byte of a $op"
	done
	ends "$@" -O atomic -n "$(reps 200)" -q 2 --check
	verdict $? "$name: every value of an atomic"
	ends "$@" -O write -s 65536 -D 1 --report_gbits && [ "$(echo $row | awk '{ print ($2 > 0) }')" = 1 ]
	verdict $? "$name: bandwidth for a second" "$(echo $row | awk '{ print $4 }') Gb/s"
	for op in write send read; do
		ends "$@" -O $op --lat -n "$(reps 200)" && [ "$(echo $row | awk '{ print $2 }')" = "$(reps 200)" ]
		verdict $? "$name: latency of a $op" "median $(echo $row | awk '{ print $5 }') us"
	done
}

export WEFT_RUNTIME_DIR="$e2e_dir"
net_or_skip perf 3400 10.98.0
options0='' options1=''
over af_packet af_packet:perf0 af_packet:perf1 10.98.0.11
over af_xdp af_xdp:perf0 af_xdp:perf1 10.98.0.11
# A link needs no interface; its ends have addresses of their own.
options0='-o ip=10.98.1.10' options1='-o ip=10.98.1.11'
over link "link:$e2e_dir/perf.link" "link:$e2e_dir/perf.link" 10.98.0.11
options0='' options1=''

# A server takes no more memory than it was allowed, whether for messages or for queues.
for greed in '-s 1M -q 8' '-s 8 -q 64 -t 1024'; do
	options1='-M 4M'
	! ends af_packet:perf0 af_packet:perf1 10.98.0.11 $greed -n 1 &&
		grep -q '10.98.0.11 says: .* --max-memory is 4 MB: raise that there to [0-9]*M' "$e2e_dir/client" &&
		grep -q 'refused 10.98.0.10' "$e2e_dir/server"
	verdict $? "a server refuses what needs too much memory: $greed" "$(tail -n 1 "$e2e_dir/client")"
	options1="-M $(sed -n 's/.*raise that there to \([0-9]*M\).*/\1/p' "$e2e_dir/client")"
	ends af_packet:perf0 af_packet:perf1 10.98.0.11 $greed -n 1
	verdict $? "and does it with the memory that it named: $options1"
done
options1=''

# A client whose packets are lost, or that is killed, ends its server with a message, not by a signal.
while read -r how test; do
	next_port
	loss=''
	[ $how = killed ] || loss='-o fault_loss=100%'
	$in1 timeout 60 "$WEFT_PERF" -p $e2e_port -o ip=10.98.1.11 "link:$e2e_dir/end.link" \
		>"$e2e_dir/server" 2>&1 &
	server_pid=$!
	$in0 timeout 60 "$WEFT_PERF" -p $e2e_port -o ip=10.98.1.10 $loss $test -n 1000000000 \
		"link:$e2e_dir/end.link" 10.98.0.11 >"$e2e_dir/out" 2>"$e2e_dir/client" &
	client_pid=$!
	e2e_pids="$e2e_pids $server_pid $client_pid"
	tries=0
	until [ $how = loss ] || [ $tries = 200 ] ||
		$in1 cat /proc/net/tcp6 | grep -q "$(printf ':%04X [0-9A-F]*:[0-9A-F]* 01' $e2e_port)"; do
		sleep 0.1
		tries=$((tries + 1))
	done
	[ $how = loss ] || { sleep 0.5 && e2e_signal TERM $client_pid; }
	wait $client_pid
	client_code=$?
	wait $server_pid
	server_code=$?
	[ $server_code = 1 ] && [ $client_code != 0 ]
	verdict $? "a server outlives its client: $how, $test" "$(tail -n 1 "$e2e_dir/server")"
done <<'ROWS'
loss -O write
loss -l
loss -c -q 4
killed -O write
killed -O read
killed -O send
killed -O atomic
killed -l
ROWS

# What cannot work is told with its reason.
while IFS='|' read -r options port0 port1 said; do
	options0="-o ip=10.98.1.10 $options" options1='-o ip=10.98.1.11'
	! ends "link:$e2e_dir/$port0" "link:$e2e_dir/$port1" 10.98.0.11 -n 10 && grep -q "$said" "$e2e_dir/client"
	verdict $? "what cannot work is told: $said" "$(tail -n 1 "$e2e_dir/client")"
done <<'ROWS'
-x 0|one|one|GID 0 is fe80:.*, and the peer's 10.98.1.11: choose both of IPv4
-x 9|one|one|there is no GID 9; there are 0, 1$
|one|two|QP 0x[0-9a-f]*: .* the NIC's own link is down
ROWS
options0='' options1=''

ends af_packet:perf0 af_packet:perf1 10.98.0.11 -n 10 --json -s 1000 &&
	python3 -c 'import json, sys; r = json.load(sys.stdin); assert (r["bytes"], r["iterations"]) == (1000, 10)' \
		<"$e2e_dir/out" 2>>"$e2e_dir/client"
verdict $? "the result as JSON"
# Mistakes: one line each that says what to do.
for mistake in '-s 0 x:y|--size' '--check --lat x:y|--check goes with' 'tape:x|is none of' \
	'af_packet:nosuch|nosuch' '-x 200 af_packet:perf0 10.98.0.11|--gid-index' \
	'-M 4 x:y|--max-memory' 'link:/x|no address of its own: -o ip=ADDRESS' \
	'-o ip=10.1.1.1 ring:x|a ring has both ends in one weftd' \
	'-o ip=10.1.1.1 -o prot=1 link:/x|unknown key .prot.'; do
	! $in0 timeout 20 "$WEFT_PERF" ${mistake%|*} >"$e2e_dir/client" 2>&1 &&
		grep -q -e "^weft-perf: .*${mistake#*|}" "$e2e_dir/client" && [ "$(wc -l <"$e2e_dir/client")" = 1 ]
	verdict $? "a mistake is told: ${mistake%|*}"
done
WEFT_RUNTIME_DIR=$e2e_dir/none timeout 20 "$WEFT_PERF" -o ip=10.1.1.1 link:x >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q "link x: there is no folder $e2e_dir/none: make it" "$e2e_dir/client"
verdict $? "a link in a folder that is not there"
$in0 timeout 20 "$WEFT_PERF" -p 1 af_packet:perf0 127.0.0.1 >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q 'is weft-perf running there' "$e2e_dir/client"
verdict $? "a server that is not there is told"
# What talks to a server may be anything.
next_port
$in1 timeout 20 "$WEFT_PERF" -p $e2e_port af_packet:perf1 >"$e2e_dir/server" 2>&1 &
server_pid=$!
e2e_pids="$e2e_pids $server_pid"
$in0 python3 - $e2e_port >"$e2e_dir/client" 2>&1 <<-'PYTHON'
	import socket, sys, time
	for _ in range(100):
	    try:
	        s = socket.create_connection(("10.98.0.11", int(sys.argv[1])), 1)
	        break
	    except OSError:
	        time.sleep(0.1)
	# Somebody who looks for open ports.
	s.close()
	s = socket.create_connection(("10.98.0.11", int(sys.argv[1])), 5)
	s.sendall(b'{"weft-perf": 1, "size": -5, "qps": 1e9}\n')
	s.settimeout(5)
	s.recv(1000)
PYTHON
wait $server_pid
[ $? = 1 ] && grep -q 'the same version there' "$e2e_dir/server"
verdict $? "nonsense ends a server with a message, a look at its port does not"

e2e_stop $e2e_pids
net_close
e2e_end
