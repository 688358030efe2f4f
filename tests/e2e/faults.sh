#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Faults at ports of a running switch and of NICs, switched on and off: programs bring every byte
# through, and the counters tell what happened to their frames.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs python3

# set_fault TARGET KEY VALUE
set_fault() {
	timeout 20 "$WEFTCTL" set "$@" >"$e2e_dir/client" 2>"$e2e_dir/server"
	verdict $? "set $*" "$(cat "$e2e_dir/client" "$e2e_dir/server" | head -n 1 | cut -c 1-70)"
}
# counter OWNER NAME: its value, -1 = there is none
counter() {
	timeout 20 "$WEFTCTL" -j counters |
		python3 -c 'import json, sys
print(json.load(sys.stdin)["counters"][sys.argv[1]].get(sys.argv[2], -1))' "$1" "$2"
}
# counted OWNER NAME: at least once
counted() {
	e2e_value=$(counter "$1" "$2")
	[ "$e2e_value" -gt 0 ]
	verdict $? "$1 counts $2" "$e2e_value"
}
# has_happened PATTERN: an event of late
has_happened() {
	timeout 20 "$WEFTCTL" --past events >"$e2e_dir/client" 2>"$e2e_dir/server"
	grep -E "$1" "$e2e_dir/client" >/dev/null
	verdict $? "event: $1"
}

# One port's faults are those of the conf from the start on.
sed '$a\
[port ring:a]\
fault_duplicate = 2%' "$WEFT_CONF" >"$e2e_dir/with-faults"
mkdir "$e2e_dir/conf"
mv "$e2e_dir/with-faults" "$e2e_dir/conf/loopback.conf"
WEFT_CONF="$e2e_dir/conf/loopback.conf"
e2e_start
pingpong ibv_rc_pingpong -c -n 200 -s 20000
counted sw0/0 fault_tx_duplicated
[ "$(counter sw0/1 fault_tx_lost)" = -1 ] && [ "$(counter weft1 fault_tx_lost)" = -1 ]
verdict $? "a port without faults counts none"

# While a program is at work.
next_port
server_start 60 ib_write_bw -d $dev0 -x "$gid0" -F -p $e2e_port -D 6
(run_for 60 ib_write_bw -d $dev1 -x "$gid1" -F -p $e2e_port -D 6 127.0.0.1) >"$e2e_dir/bw" 2>&1 &
client_pid=$!
e2e_pids="$e2e_pids $client_pid"
e2e_tries=0
until timeout 20 "$WEFTCTL" qps weft1 | grep RTS >/dev/null || [ $e2e_tries = 100 ]; do
	sleep 0.1
	e2e_tries=$((e2e_tries + 1))
done
set_fault sw0/1 fault_loss 1%
set_fault sw0/1 fault_rx_burst_p 0.1%
set_fault weft0 fault_rx_pattern 0000000000000000000000000000000000000000000000000000000000000001
sleep 1
e2e_before=$(counter sw0/1 rx_packets)
set_fault sw0/1 fault_down_every 500ms
set_fault sw0/1 fault_down_for 50ms
wait $client_pid
e2e_code=$?
cp "$e2e_dir/bw" "$e2e_dir/client"
[ $e2e_code = 0 ] && [ "$(perftest_rows)" = 1 ]
verdict $? "a program goes on through it all" "$(tail -n 2 "$e2e_dir/bw" | head -n 1 | tr -s ' ')"
wait "$server_pid"
counted sw0/1 fault_tx_lost
counted sw0/1 fault_rx_lost_burst
counted weft0 fault_rx_lost_pattern
counted sw0/1 fault_rx_lost_down
has_happened 'sw0: link of port 1 down \(b\)'
has_happened 'sw0: link of port 1 up \(b\)'
[ "$(counter sw0/1 rx_packets)" -gt "$e2e_before" ]
verdict $? "what a port counted goes on"
set_fault sw0/1 fault_down_for 0
set_fault sw0/1 fault_rx_burst_p 0

# All bytes are right, whatever is lost or late.
set_fault sw0/0 fault_corrupt 0.5%
set_fault sw0/0 fault_delay 50us
set_fault sw0/0 fault_jitter 50us
pingpong ibv_rc_pingpong -c -n 200 -s 20000
counted sw0/0 fault_tx_corrupted
set_fault sw0/0 fault_corrupt 0
set_fault sw0/1 fault_loss 0
set_fault weft0 fault_rx_pattern 0

# A link that is taken down and up by hand.
set_fault weft1 fault_down yes
port_is weft1 PORT_DOWN
verdict $? "its device sees the link go down"
set_fault weft1 fault_down no
port_is weft1 PORT_ACTIVE
verdict $? "and up"
pingpong ibv_rc_pingpong -c -n 200 -s 20000
e2e_end
