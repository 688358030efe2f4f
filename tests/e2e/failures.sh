#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What isn't there, and what dies: every program ends in an error and none hangs.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ib_write_bw ibv_rc_pingpong

# ends_badly SECONDS PID: the process ends within that time, with an error of its own.
ends_badly() {
	e2e_tries=0
	while e2e_signal 0 "$2"; do
		[ $e2e_tries -lt $(($1 * 10)) ] || return 1
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
	wait "$2"
	e2e_code=$?
	# 124: timeout had to end it. Above 128: it crashed.
	[ $e2e_code != 0 ] && [ $e2e_code -lt 124 ]
}

# No daemon at all.
(WEFT_SOCKET=$e2e_dir/none.sock run ibv_devices) >"$e2e_dir/client" 2>&1
code=$?
[ $code != 0 ] && [ $code -lt 124 ] && [ "$(grep -c weft "$e2e_dir/client")" = 1 ]
verdict $? "no daemon: weft-run says so in one line" "$(grep weft "$e2e_dir/client")"

# What isn't there, whether a daemon is or not.
while read -r want word; do
	(WEFT_SOCKET=$e2e_dir/none.sock run "$word") >"$e2e_dir/client" 2>&1
	code=$?
	[ $code = "$want" ] && grep -q "^weft-run: $word: " "$e2e_dir/client"
	verdict $? "weft-run $word: $want" "$(cat "$e2e_dir/client")"
done <<ROWS
127 no-such-program
127 $e2e_dir/no-such-program
126 /etc/passwd
ROWS
(run --version) >"$e2e_dir/client" 2>&1 && grep -q '^weft-run [0-9]' "$e2e_dir/client"
verdict $? "weft-run --version" "$(cat "$e2e_dir/client")"

e2e_start

# A GID index that doesn't exist.
for prog in "ibv_rc_pingpong -g 200" "ib_write_bw -F -x 200"; do
	next_port
	# shellcheck disable=SC2086 # words
	set -- $prog
	good=$(echo "$prog" | sed "s/200/$gid0/")
	# shellcheck disable=SC2086
	server_start 20 $good -d $dev0 -p $e2e_port
	(run_for 15 "$@" -d $dev1 -p $e2e_port 127.0.0.1) >"$e2e_dir/client" 2>&1 &
	ends_badly 15 $!
	verdict $? "$prog: an error"
	e2e_stop "$server_pid"
done

# A peer that no fabric of ours reaches: its daemon is another one, with other addresses.
sed 's/10\.77\./10.78./g; s/weft0/far0/g; s/weft1/far1/g' "$WEFT_CONF" >"$e2e_dir/far.conf"
daemon_start far "$e2e_dir/far.conf"
far_pid=$daemon_pid
daemon_wait far0
verdict $? "a second daemon with devices of its own"
for prog in ib_write_bw ib_read_bw ib_send_bw; do
	next_port
	server_start 40 $prog -d far0 -x "$(gid_index far0 '::ffff:')" -F -p $e2e_port
	(run_for 30 $prog -d $dev1 -x "$gid1" -F -p $e2e_port 127.0.0.1) >"$e2e_dir/client" 2>&1 &
	ends_badly 30 $!
	verdict $? "$prog to a peer that isn't there: an error"
	e2e_stop "$server_pid"
done
e2e_stop "$far_pid"

# The server is killed in mid-transfer, then the client.
for prog in ib_write_bw ib_read_bw ib_send_bw; do
	next_port
	(run $prog -d $dev0 -x "$gid0" -F -p $e2e_port -D 30) >"$e2e_dir/server" 2>&1 &
	victim=$!
	e2e_pids="$e2e_pids $victim"
	sleep 1
	(run_for 60 $prog -d $dev1 -x "$gid1" -F -p $e2e_port -D 30 127.0.0.1) \
		>"$e2e_dir/client" 2>&1 &
	survivor=$!
	sleep 2
	e2e_signal KILL $victim
	ends_badly 20 $survivor
	verdict $? "$prog, server killed: the client ends in an error"
done
next_port
server_start 60 ib_send_bw -d $dev0 -x "$gid0" -F -p $e2e_port -D 30
(run ib_send_bw -d $dev1 -x "$gid1" -F -p $e2e_port -D 30 127.0.0.1) >"$e2e_dir/client" 2>&1 &
victim=$!
sleep 2
e2e_signal KILL $victim
wait $victim 2>/dev/null
# perftest's server may wait for a byte that never comes on its own TCP connection; ours to show
# is that the daemon forgets the dead one and serves the next.
e2e_stop "$server_pid"
pair ib_write_bw -s 65536 -n 500

# A second daemon can't take the devices of the first.
timeout 10 "$WEFTD" "$e2e_dir/loopback.conf" >"$e2e_dir/client" 2>&1
code=$?
[ $code != 0 ] && [ $code -lt 124 ] && grep -q . "$e2e_dir/client"
verdict $? "the same conf a second time: refused" "$(tail -n 1 "$e2e_dir/client")"

# The daemon is killed under a running pair, and started again over what it left behind.
next_port
server_start 60 ib_write_bw -d $dev0 -x "$gid0" -F -p $e2e_port -D 30
(run_for 60 ib_write_bw -d $dev1 -x "$gid1" -F -p $e2e_port -D 30 127.0.0.1) \
	>"$e2e_dir/client" 2>&1 &
survivor=$!
sleep 2
e2e_signal KILL "$e2e_daemon"
wait "$e2e_daemon" 2>/dev/null
setup_forget "$e2e_daemon"
ends_badly 20 $survivor
verdict $? "weftd killed: the client ends in an error"
e2e_stop "$server_pid"
setup_start loopback
daemon_wait $dev0
verdict $? "weftd starts again after kill -9"
pair ib_write_bw -s 65536 -n 500

e2e_end
