#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The same in real and in virtual time: two weftds with links of 1 Gb/s between them that lose 1 % of the
# data, ib_send_bw on them, and what weft-lab says of that.
#   WEFT_LAB  the program
#
# What differs: the daemons' frames leave when a worker wakes, up to some 0.1 ms late if the kernel has
# better to do; so the way is 2 ms, beside which that is little, packets are large, and the program sleeps
# until something has come (-e): two cores have time for all. Loss strikes where frames come in, behind
# the link whose time they took, as in the laboratory; the other way there are answers, and all arrive. The
# window is larger than what fits on the way: the links set the pace. The dice are others: a round has 512
# losses, whose number alone moves the goodput by 2.5 %, and the median of five is compared.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ib_send_bw

window=1024 mtu=4096 message=65536 timeout=12 messages=400
export WEFT_RUNTIME_DIR="$e2e_dir"
link="fault_rate = 1G
fault_delay = 2ms"
cat >"$e2e_dir/receiver.conf" <<CONF
[nic weft0]
port = link:way
ip = 10.77.0.1
window = $window
fault_rx_loss = 1%
$link
CONF
cat >"$e2e_dir/sender.conf" <<CONF
[nic weft1]
port = link:way
ip = 10.77.0.2
window = $window
$link
CONF
cat >"$e2e_dir/same.scenario" <<SCENARIO
[lab]
sample = 0
[topology]
kind = back-to-back
rate = 1G
delay = 2ms
[host]
window = $window
path_mtu = $mtu
timeout = $timeout
[link h0-h1]
fault_loss = 1%
[workload write]
kind = long
verb = SEND
message = $message
bytes = $((messages * message))
SCENARIO

setup_start receiver
setup_start sender
setup_wait && gid0=$(gid_index $dev0 '::ffff:') && gid1=$(gid_index $dev1 '::ffff:') && [ -n "$gid0$gid1" ]
verdict $? "two daemons and a link of 2 ms between them"

# goodput: as the client reports it, in Mb/s; its rate of messages has more digits than the other. On a busy
# machine perftest may fail to find out how fast its CPU counts, and says 0: then as the server does.
goodput() {
	cat "$e2e_dir/client" "$e2e_dir/server" | awk -v bits=$((message * 8)) '
		/^ *[0-9]+ +[0-9]+ +[0-9]/ && !rate { rate = int($5 * bits) }
		END { print rate + 0 }'
}
# predicted BYTES: by the laboratory, in Mb/s
predicted() {
	timeout 300 "$WEFT_LAB" run "$e2e_dir/same.scenario" workload.write.bytes="$1" --quiet \
		--csv "$e2e_dir/csv" >"$e2e_dir/server" 2>&1 &&
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
			NR == 2 { print int($at["bytes"] * 8 / ($at["end_ps"] / 1e6)) }' "$e2e_dir/csv/flows.csv"
}

lab_rate=$(predicted $((messages * message)))
[ "${lab_rate:-0}" -gt 0 ]
verdict $? "the laboratory has an answer" "$lab_rate Mb/s"
pair ib_send_bw -e --report_gbits -s $message -m $mtu -u $timeout -n $messages
timeout 20 "$WEFTCTL" --socket sender counters $dev1 |
	grep -q 'packet_seq_err *[1-9]'
verdict $? "the daemons deliver it all, over losses" "$(goodput) Mb/s"

# A daemon with sanitizers is slower than the link.
if [ -n "${WEFT_TEST_LONG-}" ] && [ -z "${WEFT_E2E_PRELOAD-}" ]; then
	lab_rate=$(predicted 1G)
	rates=
	for round in 1 2 3 4 5; do
		set_fault --socket receiver weft0 fault_seed $round
		pair ib_send_bw -e --report_gbits -s $message -m $mtu -u $timeout -n 3200
		rates="$rates$(goodput) $round
"
	done
	rate=$(echo "$rates" | sort -n | sed -n 3p | cut -d' ' -f1)
	[ $((rate * 100)) -ge $((lab_rate * 90)) ] && [ $((rate * 100)) -le $((lab_rate * 110)) ]
	verdict $? "the laboratory foretells the goodput within 10 %" "$rate Mb/s, foretold $lab_rate"
fi
e2e_end
