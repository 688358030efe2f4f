#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons joined by a memif; the client is there first, and comes back after it has left.
# shellcheck disable=SC2154,SC2086 # set by lib.sh or by eval; words of numbers
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

e2e_needs ib_write_bw ibv_rc_pingpong

# side N ROLE: a daemon with its end of the memif.
side() {
	printf '[nic weft%s]\nport = memif:%s/memif.sock,%s\nip = 10.98.0.1%s\n' "$1" "$e2e_dir" "$2" "$1" \
		>"$e2e_dir/side$1.conf"
	daemon_start weftd "$e2e_dir/side$1.conf"
	eval "pid$1=\$daemon_pid"
	daemon_wait weft"$1"
}

# quick: whether anything goes over it. The client looks for its server only now and then.
quick() {
	sleep 2
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
e2e_end
