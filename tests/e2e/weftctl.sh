#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weftctl: what it shows of a daemon that works, as tables and as JSON, and whom it refuses.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs python3

# ctl ARGS...: into client, code in $ctl_code
ctl() {
	timeout 20 "$WEFTCTL" "$@" >"$e2e_dir/client" 2>"$e2e_dir/server"
	ctl_code=$?
}
# says CODE NAME [PATTERN]: the last answer had this exit code, and this on either output
says() {
	[ "$ctl_code" = "$1" ] && grep -E "${3-}" "$e2e_dir/client" "$e2e_dir/server" >/dev/null
	verdict $? "$2" "$(cat "$e2e_dir/server" "$e2e_dir/client" | head -n 1 | cut -c 1-90)"
}
# json EXPRESSION: true of the last answer, d
json() {
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval("(" + sys.argv[2] + ")"))' \
		"$e2e_dir/client" "$1"
}

export WEFT_RUNTIME_DIR="$e2e_dir"
ctl nodes
says 3 "no daemon" 'no weftd is running in'
e2e_start

ctl nodes
says 0 "nodes" 'sw0 .*switch  0 ring:[a-z0-9]*, 1 ring:[a-z0-9]*$'
says 0 "the buffer of a switch" 'ecmp, 0 prefixes; buffer [0-9]* of 16777216 bytes, at most [1-9]'
ctl -j nodes
[ $ctl_code = 0 ] && json '[n["name"] for n in d["nodes"]] == ["weft0", "weft1", "sw0"] and
	d["nodes"][0]["gids"][1]["address"] == "10.77.0.1" and d["nodes"][0]["qps"] == 0'
verdict $? "nodes as JSON"
json '[(p["link"], p["floods"]) for p in d["nodes"][2]["ports"]] == [("up", True)] * 2 and
	d["nodes"][2]["buffer"] == 1 << 24 and d["nodes"][2]["lb"] == "ecmp"'
verdict $? "a switch as JSON"
ctl version
says 0 "version" 'daemon loopback'
ctl qps
says 0 "qps of nobody" '^NIC'

# A pair at work.
next_port
server_start 60 ib_write_bw -d $dev0 -x "$gid0" -F -p $e2e_port -D 20
(run ib_write_bw -d $dev1 -x "$gid1" -F -p $e2e_port -D 20 127.0.0.1) >"$e2e_dir/bw" 2>&1 &
client_pid=$!
e2e_pids="$e2e_pids $client_pid"
e2e_tries=0
until ctl -j qps weft1 && json 'any(q["inflight_packets"] > 0 for q in d["qps"])' || [ $e2e_tries = 100 ]; do
	sleep 0.1
	e2e_tries=$((e2e_tries + 1))
done
json 'len(d["qps"]) == 1'
verdict $? "qps of one NIC, at work"
qpn=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["qps"][0]["qpn"])' "$e2e_dir/client")
json "d['qps'][0]['state'] == 'RTS' and d['qps'][0]['peer'] == '10.77.0.1' and
	d['qps'][0]['framing'] == 'weft' and d['qps'][0]['reliability'] == 'gbn' and d['qps'][0]['sends_posted'] > 0 and
	d['qps'][0]['pid'] == $client_pid and d['qps'][0]['error'] == ''"
verdict $? "state, peer, engines, work and process of a QP"
ctl -j qps
[ $ctl_code = 0 ] && json 'sorted(q["nic"] for q in d["qps"]) == ["weft0", "weft1"] and
	d["qps"][0]["peer_qpn"] == d["qps"][1]["qpn"]'
verdict $? "qps of all"
ctl qps
says 0 "the same as a table" 'weft1 +0x[0-9a-f]{6} RC +RTS +10.77.0.1/0x[0-9a-f]{6} +weft +gbn/fixed/fixed'
ctl qp weft1 "$qpn"
says 0 "one QP" "^pid +$client_pid\$"
ctl qp weft1 "$(printf 0x%x "$qpn")"
says 0 "one QP, by a hexadecimal number" "^peer +10.77.0.1\$"
ctl -j clients weft1
[ $ctl_code = 0 ] && json "[(c['pid'], c['qps'], c['mrs'], c['cqs'], c['pds']) for c in d['clients']] ==
	[($client_pid, 1, 1, 1, 1)] and d['clients'][0]['memory_bytes'] > 65536"
verdict $? "programs, and what they have"
ctl clients
says 0 "the same as a table" "^ +[0-9]+ weft1 +$client_pid "
ctl -j nodes
json 'all(n["kind"] != "nic" or (n["qps"], n["keys"]) == (1, 1) for n in d["nodes"])'
verdict $? "queue pairs and keys of NICs"
ctl counters weft1
says 0 "counters" '^weft1 tx_packets [1-9]'
ctl -j counters
[ $ctl_code = 0 ] && json 'd["counters"]["weft1"]["tx_packets"] > 1000 and
	d["counters"]["sw0/1"]["rx_packets"] > 1000 and
	d["counters"]["weft1"]["local_ack_timeout_err"] >= 0 and "worker" in d["counters"]'
verdict $? "counters as JSON"
ctl counters sw0/1
says 0 "counters of a port" '^sw0/1 rx_packets [1-9]'
! grep -v '^sw0/1 ' "$e2e_dir/client"
verdict $? "of that one alone"
ctl counters sw0/7
says 1 "counters of a port that isn't there" 'sw0/7: sw0 has ports 0 to 1'
ctl counters weft0/0
says 1 "counters of a NIC's port" 'weft0/0: a NIC counts for all of it: ask for weft0'
ctl --all counters sw0
says 0 "counters that are 0" '^sw0/0 rx_bad 0$'

# The server dies: the client's QP says why, and those who watch are told.
timeout 60 "$WEFTCTL" --json events >"$e2e_dir/events" 2>&1 &
tail_pid=$!
e2e_pids="$e2e_pids $tail_pid"
e2e_stop "$server_pid"
e2e_tries=0
until ctl -j qps weft1 && { json 'd["qps"] and d["qps"][0]["state"] == "ERR"' || json 'not d["qps"]'; } ||
	[ $e2e_tries = 100 ]; do
	sleep 0.1
	e2e_tries=$((e2e_tries + 1))
done
json 'not d["qps"] or "retry" in d["qps"][0]["error"]'
verdict $? "why a QP failed, as long as it is there"
e2e_stop "$client_pid"
# told KIND TEXT: such an event came within 10 s
told() {
	e2e_tries=0
	until grep "\"kind\":\"$1\",\"node\":\"weft1\",\"text\":\"[^\"]*$2" "$e2e_dir/events" >/dev/null; do
		[ $e2e_tries -lt 100 ] || return 1
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
}
while read -r kind pattern; do
	told "$kind" "$pattern"
	verdict $? "watched: $kind $pattern"
done <<ROWS
client opened by pid $client_pid
client closed by pid $client_pid
ROWS
kill "$tail_pid" 2>/dev/null
ctl --past events
says 0 "events of late" "^20.*T.*Z client +weft1: closed by pid $client_pid\$"

# Mistakes.
ctl qps weft9
says 1 "a NIC that isn't there" "unknown NIC 'weft9' \(nearest: 'weft0'\)"
ctl qp weft0 1
says 1 "a QP that isn't there" 'weft0 has no QP 0x000001'
ctl counters swo
says 1 "a node that isn't there" "nearest: 'sw0'"
ctl qp weft0
says 2 "a missing argument" 'qp needs a qpn'
ctl qp weft0 -- -1
says 2 "a number that isn't one" "qpn '-1': not a whole number"
ctl --seconds 0.5 capture sw0 "$e2e_dir/x.pcapng"
says 2 "half a second" "seconds '0.5': not a whole number"
ctl nodes --seconds 3
says 2 "an option of another command" '^weftctl: --seconds is for capture'
ctl nodes weft0
says 2 "an argument too many" "'weft0' is too much"
ctl node
says 2 "an unknown command" "nearest: 'nodes'"
ctl --no-such-option
says 2 "an unknown option" 'try --help'
ctl
says 2 "no command" 'try --help'
timeout 20 "$WEFTCTL" counters >/dev/full 2>/dev/null
[ $? = 1 ]
verdict $? "output that cannot be written"

# Which daemon.
ctl -s loopback version
says 0 "a daemon by name" 'daemon loopback'
ctl -s "$e2e_dir/loopback.sock" version
says 0 "a daemon by path" 'daemon loopback'
(cd "$e2e_dir" && timeout 20 "$WEFTCTL" -s loopback.sock version) >"$e2e_dir/client" 2>"$e2e_dir/server"
ctl_code=$?
says 0 "a daemon by a file of this folder" 'daemon loopback'
ctl -s none version
says 3 "a daemon that isn't there" 'no weftd none is running'
sed 's/10\.77\./10.78./g; s/weft0/far0/g; s/weft1/far1/g' "$WEFT_CONF" >"$e2e_dir/far.conf"
daemon_start far "$e2e_dir/far.conf"
far_pid=$daemon_pid
daemon_wait far0
ctl version
says 3 "two daemons" 'several daemons run \(far, loopback\): choose one'
ctl -s far version
says 0 "one of them" 'daemon far'
e2e_signal KILL "$far_pid"
wait "$far_pid" 2>/dev/null
ctl version
says 0 "what a dead daemon left is no daemon" 'daemon loopback'

# What may change while it runs.
ctl set gbn renak 5us
says 0 "set an engine's parameter" '^gbn: renak = 5us, for connections from now on$'
ctl set weft0 traffic_class 104
says 0 "set a NIC's traffic class" '^weft0: traffic_class = 104, for connections'
ctl set fixed rate 99Z
says 1 "set with a bad unit" "rate = 99Z: "
ctl set weft0 traffic_class 300
says 1 "set out of range" 'out of range \(0 to 255\)'
ctl set gbn reank 5us
says 1 "set what isn't there" "unknown key 'reank' \(nearest: 'renak'\)"
ctl set weft0 mtu 1500
says 1 "set what is fixed" 'only traffic_class and fault_... change while it runs'
ctl set sw0/1 fault_delay 1us
says 0 "set a fault at a port of a switch" '^sw0/1: fault_delay = 1us, for frames from now on$'
ctl set sw0/2 fault_delay 1us
says 1 "set one at a port that isn't there" 'of sw0: one of its ports, sw0/0 to sw0/1'
ctl set gbm renak 5us
says 1 "set of nobody" "unknown NIC, switch or engine 'gbm' \(nearest: 'gbn'\)"
ctl --past events
says 0 "who changed what" 'order +gbn: renak = 5us, set by pid [0-9]+, uid'
pair ib_write_bw -s 65536 -n 500

# Operators that send nonsense, or read nothing.
timeout 100 python3 "$(dirname "$0")/weftctl_hostile.py" "$e2e_dir/loopback.ctl" "$(reps 3000)" \
	>"$e2e_dir/client" 2>"$e2e_dir/server"
verdict $? "hostile operators" "$(tail -n 1 "$e2e_dir/client")"
ctl version
says 0 "the daemon answers others" 'daemon loopback'

# Who may.
[ "$(stat -c %a "$e2e_dir/loopback.ctl")" = 600 ]
verdict $? "without [daemon] operators only the own user"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
	chmod 755 "$e2e_dir"
	setpriv --reuid 65534 --regid 65534 --clear-groups timeout 20 "$WEFTCTL" nodes \
		>"$e2e_dir/client" 2>"$e2e_dir/server"
	ctl_code=$?
	says 3 "somebody else" "operators. may"
	# What the dead daemon left looks the same to him.
	says 3 "of every socket" "/far.ctl, $e2e_dir/loopback.ctl: Permission denied"
	chown 65534 "$e2e_dir"
	ctl nodes
	says 3 "a folder of somebody else" "ignoring $e2e_dir: .*; -s $e2e_dir/NAME.ctl asks all the same"
	chown 0 "$e2e_dir"
	chmod 700 "$e2e_dir"
fi

e2e_end
