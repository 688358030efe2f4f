#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons joined by a memif; the client is there first, and comes back after it has left. Then a
# foreign program between them: dpdk-testpmd, which hands frames from one memif to another.
# shellcheck disable=SC2154,SC2086 # set by lib.sh or by eval; words of numbers
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

e2e_needs ib_write_bw ibv_rc_pingpong

# side N ROLE [SOCKET]: a daemon with its end of the memif.
side() {
	printf '[nic weft%s]\nport = memif:%s/%s,%s\nip = 10.98.0.1%s\n' "$1" "$e2e_dir" "${3-memif.sock}" "$2" "$1" \
		>"$e2e_dir/side$1.conf"
	: >>"$e2e_dir/weftd"
	e2e_lines=$(wc -l <"$e2e_dir/weftd")
	daemon_start weftd "$e2e_dir/side$1.conf"
	eval "pid$1=\$daemon_pid"
	e2e_tries=0
	while ! tail -n "+$((e2e_lines + 1))" "$e2e_dir/weftd" | grep -q "ready.*side$1" && e2e_signal 0 "$daemon_pid" && [ $e2e_tries -lt $((e2e_limit * 10)) ]; do
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
}

# quick: whether anything goes over it. The client looks for its server only now and then.
quick() {
	port_is weft0 PORT_ACTIVE && port_is weft1 PORT_ACTIVE || return 1
	next_port
	both $e2e_limit ibv_rc_pingpong -d weft0 -g "$gid0" -p $e2e_port -n 100 -- \
		ibv_rc_pingpong -d weft1 -g "$gid1" -p $e2e_port -n 100 127.0.0.1
}

export WEFT_RUNTIME_DIR="$e2e_dir"
side 0 client
side 1 server
gid0=$(gid_index weft0 '::ffff:')
gid1=$(gid_index weft1 '::ffff:')
quick
verdict $? "a client that was there before its server finds it"
pair ib_write_bw -s 65536 -n 200

e2e_stop "$pid0"
side 0 client
quick
verdict $? "a client comes back"
e2e_stop "$pid1"
side 1 server
quick
verdict $? "a server comes back, and its client finds it"

kill -KILL "$pid1"
wait "$pid1" 2>/dev/null
side 1 server
quick
verdict $? "a server that was killed comes back"

e2e_stop "$pid0" "$pid1"
command -v dpdk-testpmd >/dev/null || {
	verdict 0 "through dpdk-testpmd # SKIP it is not installed"
	e2e_end
}
XDG_RUNTIME_DIR="$e2e_dir" dpdk-testpmd --no-huge -m 256 --no-pci --no-shconf --no-telemetry --iova-mode va \
	--lcores '0@(0-1),1@(0-1)' --vdev "net_memif0,role=server,socket-abstract=no,socket=$e2e_dir/left" \
	--vdev "net_memif1,role=server,socket-abstract=no,socket=$e2e_dir/right" -- --forward-mode=io --total-num-mbufs=8192 \
	--mbuf-size=9216 --no-lsc-interrupt --stats-period=3600 >"$e2e_dir/testpmd" 2>&1 </dev/null &
testpmd_pid=$!
e2e_pids="$e2e_pids $testpmd_pid"
side 0 client left
side 1 client right
quick
verdict $? "pingpong through dpdk-testpmd"
pair ib_write_bw -s 65536 -n 200
e2e_stop "$pid0" "$pid1"
printf '[nic weft2]\nport = memif:%s/left,server\nip = 10.98.0.12\n' "$e2e_dir" >"$e2e_dir/second.conf"
e2e_code=0
for e2e_try in 1 2 3 4 5 6 7 8; do
	timeout 20 "$WEFTD" "$e2e_dir/second.conf" >"$e2e_dir/client" 2>&1
	if [ $? != 1 ] || ! grep -q 'another process serves it' "$e2e_dir/client"; then
		e2e_code=1
	fi
done
e2e_signal 0 "$testpmd_pid" || e2e_code=1
verdict $e2e_code "a second server is refused, $e2e_try times, and the first lives on"
e2e_stop "$testpmd_pid"
e2e_end
