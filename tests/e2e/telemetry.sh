#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# DPDK's telemetry socket carries what weftctl shows, and goes with the daemon.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs python3

# telemetry COMMAND EXPRESSION NAME: true of its answer, d
telemetry() {
	timeout 20 python3 - "$e2e_dir/dpdk/loopback/dpdk_telemetry.v2" "$1" "$2" >"$e2e_dir/client" 2>&1 <<-'PY'
		import json, socket, sys
		path, command, expression = sys.argv[1:]
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.connect(path)
		hello = json.loads(s.recv(4096))
		s.send(command.encode())
		d = json.loads(s.recv(hello["max_output_len"]))[command.split(",")[0]]
		print(d)
		sys.exit(not eval("(" + expression + ")"))
	PY
	verdict $? "$3"
}

e2e_start
pair ib_write_bw -s 65536 -n 500
telemetry /weft/nodes 'd == ["weft0", "weft1", "sw0"]' "nodes"
telemetry /weft/node,weft0 'd["reliability"] == "gbn" and any("10.77.0.1" in g for g in d["gids"])' "a NIC"
telemetry /weft/node,weft0 'd["drained"] == "no"' "whether a NIC is drained"
telemetry /weft/node,sw0 'len(d["ports"]) == 2 and d["ports"][0] == "ring:a up"' "a switch"
telemetry /weft/counters,weft1 'd["tx_packets"] > 1000 and "out_of_sequence" in d' "counters of a NIC"
telemetry /weft/counters,sw0/1 'd["rx_packets"] > 1000' "counters of a port"
telemetry /weft/counters,sw0 'd["buffer_used_max"] > 0 and "rx_packets" not in d' "counters of a switch"
telemetry /weft/counters,worker 'd["turns"] > 0' "counters of the worker"
telemetry /weft/counters,nobody 'd is None' "counters of nobody"
telemetry /weft/qps,weft0 'd == []' "no QPs"
(run_for 30 ibv_rc_pingpong -d $dev0 -g "$gid0" -p $((e2e_port + 7))) >"$e2e_dir/server" 2>&1 &
e2e_pids="$e2e_pids $!"
e2e_tries=0
until timeout 20 "$WEFTCTL" qps weft0 2>/dev/null | grep -q '^weft0 ' || [ $e2e_tries = 100 ]; do
	sleep 0.1
	e2e_tries=$((e2e_tries + 1))
done
telemetry /weft/qps,weft0 'len(d) == 1' "a QP's number"
qpn=$(tr -d '[] \n' <"$e2e_dir/client")
telemetry "/weft/qp,weft0,$qpn" "d['qpn'] == $qpn and d['type'] == 'RC' and d['pid'] > 0" "a QP"
telemetry /weft/clients 'len(d) == 1' "a program's number"
client=$(tr -d '[] \n' <"$e2e_dir/client")
telemetry "/weft/client,$client" "d['nic'] == 'weft0' and d['qps'] == 1 and d['mrs'] == 1" "what it has"
telemetry "/weft/clients,$client" 'd == []' "behind the last program"
telemetry /weft/client,0 'd is None' "no such program"
telemetry /weft/qp,weft0,1 'd is None' "no such QP"
telemetry "/weft/qps,weft0,1" 'd == []' "behind the last QP"
if command -v dpdk-telemetry.py >/dev/null 2>&1; then
	echo /weft/nodes | RUNTIME_DIRECTORY="$e2e_dir" timeout 20 dpdk-telemetry.py -f loopback \
		>"$e2e_dir/client" 2>&1
	grep -q weft0 "$e2e_dir/client"
	verdict $? "DPDK's own reader"
fi

# A daemon that was killed leaves its socket; the next one takes the place.
e2e_signal KILL "$e2e_daemon"
wait "$e2e_daemon" 2>/dev/null
e2e_daemon=
[ -S "$e2e_dir/dpdk/loopback/dpdk_telemetry.v2" ]
verdict $? "what a dead daemon left"
daemon_start weftd "$e2e_dir/loopback.conf"
e2e_daemon=$daemon_pid
daemon_wait $dev0
telemetry /weft/nodes 'd == ["weft0", "weft1", "sw0"]' "the next one answers"
e2e_signal TERM "$e2e_daemon"
wait "$e2e_daemon"
e2e_daemon=
[ ! -e "$e2e_dir/dpdk" ]
verdict $? "nothing is left at the end" "$(find "$e2e_dir" -mindepth 1 -printf '%f ')"
e2e_end
