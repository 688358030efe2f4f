#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Faults at ports of a running switch and of NICs, switched on and off: programs bring every byte
# through, and the counters tell what happened to their frames.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# counter OWNER NAME: its value; nothing if it has none
counter() {
	timeout 20 "$WEFTCTL" --all counters "$1" | sed -n "s,^$1 $2 ,,p"
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
[ -z "$(counter sw0/1 fault_tx_lost)" ] && [ -z "$(counter weft1 fault_tx_lost)" ]
verdict $? "a port without faults counts none"

# While a program is at work.
pair_start ib_write_bw -D 6
set_fault sw0/1 fault_loss 1%
set_fault sw0/1 fault_rx_burst_p 0.1%
set_fault weft0 fault_rx_pattern 0000000000000000000000000000000000000000000000000000000000000001
sleep 1
e2e_before=$(counter sw0/1 rx_packets)
set_fault sw0/1 fault_down_every 500ms
set_fault sw0/1 fault_down_for 50ms
pair_end
verdict $? "a program goes on through it all" "$(tail -n 2 "$e2e_dir/bw" | head -n 1 | tr -s ' ')"
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

# All bytes are right, whatever is lost or late. In one process, as its two ends leave together: one
# end of a pingpong goes when its last acknowledgement may yet be lost.
set_fault sw0/0 fault_corrupt 0.5%
set_fault sw0/0 fault_delay 50us
set_fault sw0/0 fault_jitter 50us
(run_for 60 "$WEFT_SURFACE" $dev0 $dev1 operations) >"$e2e_dir/client" 2>&1
verdict $? "operations of surface"
pair ib_send_bw -b -n "$(reps 1000)"
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
