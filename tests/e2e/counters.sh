#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Counters: told on SIGUSR1 while programs run, and at the end with --verbose.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

export WEFT_RUNTIME_DIR="$e2e_dir"
sed 's/^\[nic weft0\]/&\nfault_loss = 1%/' "$WEFT_CONF" >"$e2e_dir/counters.conf"
"$WEFTD" --verbose "$e2e_dir/counters.conf" >"$e2e_dir/weftd" 2>&1 &
daemon_pid=$!
e2e_pids="$e2e_pids $daemon_pid"
daemon_wait $dev0
verdict $? "weftd --verbose starts"
gid0=$(gid_index $dev0 '::ffff:')
gid1=$(gid_index $dev1 '::ffff:')
# 1 % of the frames that weft0 sends are lost: responses to these READs.
pair ib_read_bw -s 65536 -n 500

# has PREFIX OWNER NAME: the last such line has a number above 0
has() {
	grep "^$1$2 $3 [1-9][0-9]*\$" "$e2e_dir/weftd" >/dev/null
}
kill -USR1 "$daemon_pid"
e2e_tries=0
until has 'weftd: ' sw0/1 tx_packets || [ $e2e_tries = 50 ]; do
	sleep 0.1
	e2e_tries=$((e2e_tries + 1))
done
while read -r owner name; do
	has 'weftd: ' "$owner" "$name"
	verdict $? "SIGUSR1: $owner $name"
done <<'ROWS'
worker turns
weft0 rx_read_requests
weft0 tx_packets
weft0 fault_tx_lost
weft1 rx_packets
weft1 neigh_rx_answers
sw0/0 rx_bytes
ROWS
(run ibv_devinfo -d $dev0) >"$e2e_dir/client" 2>&1
verdict $? "it goes on"

kill -TERM "$daemon_pid"
wait "$daemon_pid"
verdict $? "and ends with 0"
while read -r owner name; do
	has '' "$owner" "$name"
	verdict $? "at the end: $owner $name"
done <<'ROWS'
worker turns
weft0 rx_read_requests
weft0 fault_tx_lost
sw0/1 tx_packets
ROWS
# What was lost was sent again, by whichever means.
has '' weft0 gbn_rewinds || has '' weft1 gbn_rewinds || has '' 'weft[01]' retransmits
verdict $? "at the end: what reliability did"

e2e_end
