#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Draining: by weftctl and by SIGTERM. Nobody new comes, what was posted is done within a limit, then
# programs see their device die; and the daemon says how it went.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs python3

# ctl ARGS...: into client, code in $ctl_code
ctl() {
	timeout 60 "$WEFTCTL" "$@" >"$e2e_dir/client" 2>&1
	ctl_code=$?
}
# says CODE NAME PATTERN
says() {
	[ "$ctl_code" = "$1" ] && grep -E "$3" "$e2e_dir/client" >/dev/null
	verdict $? "$2" "$(tail -n 1 "$e2e_dir/client" | cut -c 1-100)"
}
# at_work: a pair of ib_write_bw that would go on for a minute, when both QPs send. Without an answer
# a QP gives up after half a minute.
at_work() {
	next_port
	server_start 90 ib_write_bw -d $dev0 -x "$gid0" -F -p $e2e_port -D 60 -b -u 20
	(run_for 90 ib_write_bw -d $dev1 -x "$gid1" -F -p $e2e_port -D 60 -b -u 20 127.0.0.1) \
		>"$e2e_dir/bw" 2>&1 &
	client_pid=$!
	e2e_pids="$e2e_pids $client_pid"
	e2e_tries=0
	until [ $e2e_tries = 200 ] || { timeout 20 "$WEFTCTL" -j qps >"$e2e_dir/qps" 2>&1 &&
		python3 -c 'import json, sys
q = json.load(open(sys.argv[1]))["qps"]
sys.exit(not (len(q) == 2 and all(x["packets_sent"] > 1000 for x in q)))' "$e2e_dir/qps" 2>&1; }; do
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
}
# ends PID: within 20 s
ends() {
	e2e_tries=0
	while e2e_signal 0 "$1" && [ $e2e_tries -lt 200 ]; do
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
	! e2e_signal 0 "$1"
}

e2e_start
ctl drain $dev1
says 0 "an idle NIC" "^weft1: drained after [0-9]+ ms, nothing was cut off"
! (run_for 20 ibv_rc_pingpong -d $dev1 -g "$gid1" -p $((e2e_port + 1))) >"$e2e_dir/client" 2>&1
verdict $? "a drained NIC takes no program" "$(tail -n 1 "$e2e_dir/client")"
ctl nodes
says 0 "it is shown as drained" '^weft1 +nic +ring:b drained$'
! grep '^weft0.*drained' "$e2e_dir/client"
verdict $? "and it alone"
ctl -j nodes
python3 -c 'import json, sys
d = {n["name"]: n.get("drained") for n in json.load(open(sys.argv[1]))["nodes"]}
sys.exit(d != {"weft0": False, "weft1": True, "sw0": None})' "$e2e_dir/client"
verdict $? "also in JSON"
(run ibv_devinfo -d $dev0) >"$e2e_dir/client" 2>&1
verdict $? "the other one does"
ctl resume $dev1
says 0 "it can be resumed" "^weft1: takes programs again"
pair ib_write_bw -s 65536 -n 500

at_work
ctl drain
says 0 "all NICs at work" "^weft0: drained after [0-9]+ ms"
grep -qE "^weft0: .* 0 sends of 0 QPs from before|^weft0: .* nothing was cut off" "$e2e_dir/client"
verdict $? "what was posted before is done"
ends "$client_pid"
verdict $? "programs are sent away"
grep -q '^weft: weft1: drained by an operator' "$e2e_dir/bw" && ! grep -q 'daemon is gone' "$e2e_dir/bw"
verdict $? "and told that it was a drain" "$(grep '^weft: ' "$e2e_dir/bw" | tail -n 1)"
e2e_stop "$server_pid"
ctl --past events
says 0 "told as events" 'drain +weft1: draining: [0-9]+ sends of'
ctl resume
pair ib_write_bw -s 65536 -n 500
ctl drain weft9
says 1 "a NIC that isn't there" "nearest: 'weft0'"

at_work
e2e_signal TERM "$e2e_daemon"
wait "$e2e_daemon"
code=$?
e2e_daemon=
[ $code = 0 ] && grep -qE '^weftd: weft0: drained after [0-9]+ ms' "$e2e_dir/weftd"
verdict $? "SIGTERM drains and says so" "$(grep 'weft0: drained' "$e2e_dir/weftd" | tail -n 1)"
ends "$client_pid"
verdict $? "programs end"
e2e_stop "$server_pid"

# A peer that nobody reaches any more keeps a QP busy: up to the limit, or a second signal.
sed 's/^\[daemon\]/&\ndrain = 2s/; t; 1i [daemon]\ndrain = 2s' "$WEFT_CONF" |
	sed 's/^\[nic weft0\]/&\nfault_loss = 0.0001%/' >"$e2e_dir/loopback.conf"
for how in limit twice; do
	[ $how = limit ] || sed -i 's/^drain = .*/drain = 1min/' "$e2e_dir/loopback.conf"
	daemon_start weftd "$e2e_dir/loopback.conf"
	e2e_daemon=$daemon_pid
	daemon_wait $dev0
	at_work
	timeout 20 "$WEFTCTL" set weft0 fault_loss 100% >/dev/null 2>&1
	timeout 20 "$WEFTCTL" set weft0 fault_rx_loss 100% >/dev/null 2>&1
	started=$(date +%s)
	e2e_signal TERM "$e2e_daemon"
	if [ $how = twice ]; then
		sleep 1
		(run true) >"$e2e_dir/client" 2>&1
		grep -q "loopback.sock is ending: it takes no programs" "$e2e_dir/client" &&
			grep -q "no weftd that you may use" "$e2e_dir/client"
		verdict $? "a daemon that ends takes no programs, and says so"
		e2e_signal TERM "$e2e_daemon"
	fi
	wait "$e2e_daemon"
	code=$?
	e2e_daemon=
	took=$(($(date +%s) - started))
	[ $code = 0 ] && [ $took -lt 30 ] && grep -qE 'weft[01]: drained .*, cut off: [1-9][0-9]* sends' "$e2e_dir/weftd"
	verdict $? "work that cannot be done is cut off ($how)" \
		"$took s; $(grep 'cut off:' "$e2e_dir/weftd" | tail -n 1)"
	ends "$client_pid"
	e2e_stop "$server_pid"
done

e2e_end
