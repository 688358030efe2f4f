#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# NICs that want different framings on one switch: each pair of them uses what both speak, and where
# there is nothing, programs are told.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs python3 ibv_rc_pingpong ib_write_bw ib_send_bw ib_read_bw ib_atomic_bw

WEFT_CONF=$e2e_dir/mixed/mixed.conf
mkdir "$e2e_dir/mixed"
cat >"$WEFT_CONF" <<-'CONF'
	[daemon]
	packets = 16383

	[switch sw]
	ports = ring:p0, ring:p1, ring:p2, ring:p3

	[nic weft0]
	port = ring:p0
	ip = 10.77.0.1
	framing = auto

	[nic weft1]
	port = ring:p1
	ip = 10.77.0.2
	framing = auto

	[nic weft2]
	port = ring:p2
	ip = 10.77.0.3
	framing = rocev2

	[nic weft3]
	port = ring:p3
	ip = 10.77.0.4
	framing = weft
CONF
WEFT_E2E_SETUP=one
e2e_start

# between DEVICE DEVICE: for pingpong and pair
between() {
	dev0=$1 dev1=$2
	gid0=$(gid_index "$dev0" '::ffff:')
	gid1=$(gid_index "$dev1" '::ffff:')
}

# framing_is FRAMING: of the RC QPs at both ends of a program, as long as it is at work
framing_is() {
	: >"$e2e_dir/qps"
	while :; do
		timeout 20 "$WEFTCTL" -j qps >>"$e2e_dir/qps"
		sleep 0.05
	done &
	watcher=$!
	pair ib_write_bw -D 3 -s 65536
	kill $watcher
	wait $watcher 2>/dev/null
	python3 -c '
import json, sys
text, at, seen = open(sys.argv[1]).read(), 0, set()
while text[at:].strip():
    part, end = json.JSONDecoder().raw_decode(text[at:].lstrip())
    at = len(text) - len(text[at:].lstrip()) + end
    seen |= {(q["nic"], q["framing"]) for q in part["qps"] if q["type"] == "RC"}
seen = {s for s in seen if s[1] not in ("pending", None)}
print(sorted(seen))
assert seen == {(nic, sys.argv[2]) for nic in sys.argv[3:]}' \
		"$e2e_dir/qps" "$1" "$dev0" "$dev1" >"$e2e_dir/client" 2>&1
	verdict $? "$dev0 and $dev1 use $1" "$(tail -n 1 "$e2e_dir/client" | cut -c 1-70)"
}

# operations: all of them, between the present two
operations() {
	pingpong ibv_rc_pingpong -c -n "$(reps 100)"
	pingpong ibv_srq_pingpong -c -n "$(reps 50)"
	pair ib_send_bw -n "$(reps 200)" -s 10000
	pair ib_read_bw -n "$(reps 200)" -s 10000
	pair ib_atomic_bw -n "$(reps 200)"
}

between weft0 weft1
framing_is weft
operations
between weft1 weft3
framing_is weft
between weft0 weft2
framing_is rocev2
operations
between weft2 weft1
framing_is rocev2

# There is nothing that weft3 and weft2 both speak.
between weft3 weft2
next_port
! both $e2e_limit ibv_rc_pingpong -d "$dev0" -g "$gid0" -p $e2e_port -n 10 -- \
	ibv_rc_pingpong -d "$dev1" -g "$gid1" -p $e2e_port -n 10 127.0.0.1 &&
	grep -q "weft3: QP .* failed: framing = weft, and the peer.* RoCEv2" "$e2e_dir/weftd"
verdict $? "who insists on weft is told that the peer does not speak it" \
	"$(grep -o 'failed: framing.*' "$e2e_dir/weftd" | head -n 1 | cut -c 1-70)"

timeout 20 "$WEFTCTL" -j counters >"$e2e_dir/server"
python3 -c '
import json, sys
c = json.load(open(sys.argv[1]))["counters"]
print({n: {k: c[n].get(k) for k in ("peers_weft", "peers_plain", "hello_rx_bad")} for n in ("weft0", "weft1", "weft3")})
assert c["weft0"]["peers_weft"] == 1 and c["weft0"]["peers_plain"] == 1
assert c["weft1"]["peers_weft"] == 2 and c["weft3"]["peers_weft"] == 1
assert all(c[n]["hello_rx_bad"] == 0 for n in ("weft0", "weft1", "weft3"))
assert "peers_weft" not in c["weft2"]' "$e2e_dir/server" >"$e2e_dir/client" 2>&1
verdict $? "each has found out once who the others are" "$(tail -n 1 "$e2e_dir/client" | cut -c 1-70)"

e2e_end
