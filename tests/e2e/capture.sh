#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weftctl capture: files that other tools read, with names and directions; limits; readers that
# stall or vanish while traffic goes on.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs python3 tcpdump

# file EXPRESSION: true of the capture: names, packets as (interface, direction, length on the wire,
# bytes), dropped
file() {
	python3 - "$e2e_dir/x.pcapng" "$1" 2>"$e2e_dir/client" <<-'PY'
		import struct, sys
		b = open(sys.argv[1], "rb").read()
		at, names, packets, dropped = 0, [], [], None
		def options(o):
		    while len(o) >= 4:
		        code, n = struct.unpack("<HH", o[:4])
		        if code == 0:
		            return
		        yield code, o[4:4 + n]
		        o = o[4 + (n + 3) // 4 * 4:]
		while at < len(b):
		    kind, n = struct.unpack("<II", b[at:at + 8])
		    assert n % 4 == 0 and struct.unpack("<I", b[at + n - 4:at + n])[0] == n
		    body = b[at + 8:at + n - 4]
		    if kind == 1:
		        names += [v.decode() for c, v in options(body[8:]) if c == 2]
		    if kind == 6:
		        i, _, _, cap, wire = struct.unpack("<IIIII", body[:20])
		        flags = [v for c, v in options(body[20 + (cap + 3) // 4 * 4:]) if c == 2]
		        packets.append((i, flags[0][0] & 3, wire, cap))
		    if kind == 5:
		        dropped = [struct.unpack("<Q", v)[0] for c, v in options(body[12:]) if c == 5][0]
		    at += n
		print(names, len(packets), dropped, packets[:4], file=sys.stderr)
		sys.exit(not eval("(" + sys.argv[2] + ")"))
	PY
}
# capture ARGS...: in the background, when it has begun
capture() {
	rm -f "$e2e_dir/x.pcapng"
	"$WEFTCTL" "$@" 2>"$e2e_dir/told" &
	capture_pid=$!
	e2e_pids="$e2e_pids $capture_pid"
	e2e_tries=0
	until [ -s "$e2e_dir/x.pcapng" ] || [ $e2e_tries = 100 ]; do
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
}

e2e_start
capture capture weft1 "$e2e_dir/x.pcapng"
pair ib_write_bw -s 4096 -n 500
kill -TERM $capture_pid
wait $capture_pid
code=$?
[ $code = 0 ] && grep -qE '^[1-9][0-9]* packets, and [0-9]+ dropped$' "$e2e_dir/told"
verdict $? "until it is interrupted" "$(cat "$e2e_dir/told")"
file 'names == ["weft1"] and dropped is not None and
	sum(p[1] == 2 and p[2] > 4096 for p in packets) + dropped >= 500 and
	sum(p[1] == 1 for p in packets) > 0 and all(p[2] == p[3] for p in packets)'
verdict $? "both directions, whole" "$(tail -n 1 "$e2e_dir/client" | cut -c 1-80)"
tcpdump -nr "$e2e_dir/x.pcapng" 'udp port 4791' >"$e2e_dir/client" 2>&1
[ "$(grep -c '10.77.0.2.*10.77.0.1.4791' "$e2e_dir/client")" -gt 0 ]
verdict $? "tcpdump reads it" "$(sed -n 2p "$e2e_dir/client" | cut -c 1-80)"

capture --packets 10 --snaplen 64 capture sw0/1 "$e2e_dir/x.pcapng"
pair ib_write_bw -s 4096 -n 500
wait $capture_pid && file 'names == ["sw0/0", "sw0/1"] and len(packets) == 10 and
	all(p[0] == 1 and p[3] <= 64 for p in packets) and any(p[2] > 4096 for p in packets)'
verdict $? "a port of a switch, 10 packets, cut" "$(tail -n 1 "$e2e_dir/client" | cut -c 1-80)"

capture --seconds 1 capture sw0 "$e2e_dir/x.pcapng"
wait $capture_pid
verdict $? "one second" "$(cat "$e2e_dir/told")"
timeout 20 "$WEFTCTL" --seconds 1 capture weft0 - >"$e2e_dir/x.pcapng" 2>"$e2e_dir/told" &&
	file 'names == ["weft0"]'
verdict $? "to standard output"

# Readers that stall or vanish: traffic goes on, and the place is free again.
capture capture weft1 "$e2e_dir/x.pcapng"
kill -STOP $capture_pid
pair ib_write_bw -s 65536 -n 2000
timeout 20 "$WEFTCTL" capture weft1 "$e2e_dir/y.pcapng" >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q 'weft1: it is being captured already' "$e2e_dir/client"
verdict $? "one capture of a node at a time" "$(cat "$e2e_dir/client")"
kill -KILL $capture_pid
wait $capture_pid 2>/dev/null
e2e_tries=0
until timeout 20 "$WEFTCTL" --seconds 1 capture weft1 "$e2e_dir/x.pcapng" >"$e2e_dir/client" 2>&1 ||
	[ $e2e_tries = 50 ]; do
	sleep 0.2
	e2e_tries=$((e2e_tries + 1))
done
[ $e2e_tries -lt 50 ]
verdict $? "a reader that was killed is forgotten" "$(cat "$e2e_dir/client")"
rm -f "$e2e_dir/y.pcapng"
echo kept >"$e2e_dir/kept.pcapng"
timeout 20 "$WEFTCTL" capture weft9 "$e2e_dir/y.pcapng" >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q "unknown node 'weft9'" "$e2e_dir/client" && [ ! -e "$e2e_dir/y.pcapng" ]
verdict $? "a node that isn't there"
e2e_code=0
for e2e_no_port in 2 -1 4294967296 +1 ''; do
	timeout 20 "$WEFTCTL" --seconds 1 capture "sw0/$e2e_no_port" "$e2e_dir/kept.pcapng" >"$e2e_dir/client" 2>&1
	if [ $? != 1 ] || ! grep -q "sw0 has ports 0 to 1" "$e2e_dir/client" || [ "$(cat "$e2e_dir/kept.pcapng")" != kept ]; then
		e2e_code=1
		break
	fi
done
verdict $e2e_code "a port that isn't there; the file is as it was" "$(cat "$e2e_dir/client")"
python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' timeout 20 "$WEFTCTL" capture weft0 - \
	>"$e2e_dir/client" 2>&1 </dev/null
[ $? = 2 ] && grep -q "no text for a terminal: name a file" "$e2e_dir/client"
verdict $? "a capture to a terminal is refused"
timeout 20 "$WEFTCTL" --seconds 1 capture weft0 /dev/full >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q "/dev/full: No space left" "$e2e_dir/client"
verdict $? "a file that cannot be written"

# The daemon ends under a capture, whose file is whole up to then.
capture capture weft1 "$e2e_dir/x.pcapng"
pair ib_write_bw -s 4096 -n 100
e2e_signal TERM "$e2e_daemon"
wait "$e2e_daemon"
code=$?
e2e_daemon=
wait $capture_pid
[ $code = 0 ] && [ "$(head -c 4 "$e2e_dir/x.pcapng" | od -An -tx1 | tr -d ' ')" = 0a0d0d0a ]
verdict $? "the daemon ends under a capture" "exit code $code"
e2e_end
