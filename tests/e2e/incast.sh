#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Seven hosts write to one, through a switch whose port to it stands for a slow link. With priority
# flow control nothing is dropped and both ends count pauses; without it packets are dropped and
# go-back-N still delivers every byte. In a long run: how much of the link was used.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs python3

rate=2
# make_conf SWITCH_KEYS [NIC_KEYS [SWITCHES]]: a conf of eight hosts in class 3 whose data is ECT, at one
# switch or, with the one that all write to apart, at two
make_conf() {
	if [ "${3-1}" = 1 ]; then
		printf '[switch sw0]\nports = ring:h0 ring:h1 ring:h2 ring:h3 ring:h4 ring:h5 ring:h6 ring:h7\n%s\n' "$1"
	else
		printf '[switch sw0]\nports = ring:h0 ring:mid\n%s\n' "$1"
		printf '[switch sw1]\nports = ring:mid ring:h1 ring:h2 ring:h3 ring:h4 ring:h5 ring:h6 ring:h7\n%s\n' "$1"
	fi
	printf '[port ring:h0]\nrate = %sG\n' $rate
	for i in 0 1 2 3 4 5 6 7; do
		printf '[nic weft%s]\nport = ring:h%s\nip = 10.77.0.%s\ntraffic_class = 98\n%s\n' "$i" "$i" $((i + 1)) "${2-}"
	done
}
# total OWNER NAME...: sum of these counters of an owner, or of a switch's ports, over all owners that match
total() {
	timeout 20 "$WEFTCTL" -j counters | python3 -c 'import json, re, sys
all = json.load(sys.stdin)["counters"]
print(sum(c.get(n, 0) for o, c in all.items() if re.fullmatch(sys.argv[1], o) for n in sys.argv[2:]))' "$@"
}
# restart SWITCH_KEYS [NIC_KEYS [SWITCHES]]: the daemon with these
restart() {
	# shellcheck disable=SC2086 # pids
	e2e_stop $e2e_daemon
	e2e_daemon=
	make_conf "$@" >"$e2e_dir/conf/loopback.conf"
	e2e_start
}
# write_all NAME: all to one; the rate is in $e2e_gbps
write_all() {
	(run_for $e2e_limit "$WEFT_INCAST" weft0 weft1 weft2 weft3 weft4 weft5 weft6 weft7) \
		>"$e2e_dir/client" 2>"$e2e_dir/server"
	verdict $? "$1" "$(cat "$e2e_dir/client") Gb/s of payload over a link of $rate Gb/s"
	e2e_gbps=$(cat "$e2e_dir/client")
}
# is_empty: nothing is left in the switch
is_empty() {
	[ "$(total sw0 buffer_used)" = 0 ]
	verdict $? "the switch is empty afterwards"
}

mkdir "$e2e_dir/conf"
WEFT_CONF="$e2e_dir/conf/loopback.conf"
unset WEFT_E2E_SETUP

restart 'pfc = 3
buffer = 6M
ecn_kmin = 20K
ecn_kmax = 20K'
write_all "seven to one with PFC: every byte arrives"
drops=$(total 'sw0/.*' tx_prio3_full rx_prio3_headroom tx_full_pkts tx_no_buffer tx_link_down)
[ "$drops" = 0 ]
verdict $? "nothing is dropped" "$drops"
lost=$(total 'weft.*' out_of_sequence packet_seq_err local_ack_timeout_err)
[ "$lost" = 0 ]
verdict $? "and nobody had to repeat" "$lost"
told=$(total 'sw0/[1-7]' tx_prio3_pause)
heard=$(total 'weft[1-7]' rx_prio3_pause)
[ "$told" -gt 0 ] && [ "$heard" -gt 0 ]
verdict $? "the switch tells hosts to pause, and they hear it" "$told pauses, $heard frames heard"
[ "$(total sw0/0 tx_prio3_pause)" = 0 ]
verdict $? "not the one that they write to"
marked=$(total sw0/0 tx_prio3_marked)
[ "$marked" -gt 0 ] && [ "$marked" = "$(total weft0 np_ecn_marked_roce_packets)" ]
verdict $? "each ECN mark arrives" "$marked"
is_empty

# Tagged frames, whose class the switch takes from the tag.
restart 'pfc = 3
buffer = 6M
trust = pcp' 'vlan = 5'
write_all "the same in a VLAN, by the priority of its tag"
drops=$(total 'sw0/.*' tx_prio0_full tx_prio3_full rx_prio3_headroom tx_full_pkts)
told=$(total 'sw0/[1-7]' tx_prio3_pause)
[ "$drops" = 0 ] && [ "$told" -gt 0 ]
verdict $? "nothing is dropped, hosts are paused" "$told pauses"

# A switch pauses a switch, and that its hosts.
restart 'pfc = 3
buffer = 6M' '' 2
write_all "the same through two switches"
drops=$(total 'sw[01]/.*' tx_prio3_full rx_prio3_headroom tx_full_pkts tx_no_buffer)
[ "$drops" = 0 ]
verdict $? "nothing is dropped in either" "$drops"
between=$(total sw1/0 rx_prio3_pause)
heard=$(total 'weft[1-7]' rx_prio3_pause)
[ "$between" -gt 0 ] && [ "$heard" -gt 0 ]
verdict $? "one pauses the other, which pauses hosts" "$between and $heard frames heard"

restart 'limit = 200K'
write_all "the same without PFC: go-back-N delivers every byte"
drops=$(total sw0/0 tx_prio3_full)
[ "$drops" -gt 0 ] && [ "$(total 'sw0/.*' tx_pause_frames)" = 0 ]
verdict $? "packets are dropped and nobody is paused" "$drops dropped"
is_empty

if [ -n "${WEFT_TEST_LONG-}" ]; then
	restart 'pfc = 3
buffer = 6M'
	for i in 1 2 3 4 5; do
		write_all "figure $i of 5"
		echo "$e2e_gbps" >>"$e2e_dir/figures"
	done
	# Of 4,154 + 24 bytes of the link 4,096 are payload.
	echo "# median $(sort -n "$e2e_dir/figures" | sed -n 3p) Gb/s; all of the link would be $(python3 -c "print(round($rate * 4096 / 4178, 3))")"
fi
e2e_end
