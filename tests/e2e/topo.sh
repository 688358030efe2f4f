#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The shipped fabrics of several switches in one process: every pair of hosts reaches each other, each
# broadcast reaches every host once, links may go down and come back, and no buffer keeps anything.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs python3 ibv_rc_pingpong ib_write_bw

hosts="weft0 weft1 weft2 weft3"
topo="$(dirname "$WEFT_CONF")/topo"

# start FILE: the daemon of this fabric in place of the one before
start() {
	# shellcheck disable=SC2086 # pids
	e2e_stop $e2e_daemon
	e2e_daemon=
	WEFT_CONF="$1"
	e2e_start
	for e2e_host in $hosts; do
		daemon_wait "$e2e_host"
		verdict $? "$(basename "$1" .conf): $e2e_host is active"
	done
}

# between DEVICE DEVICE: for pingpong and pair
between() {
	dev0=$1 dev1=$2
	gid0=$(gid_index "$dev0" '::ffff:')
	gid1=$(gid_index "$dev1" '::ffff:')
	[ -n "$gid0" ] && [ -n "$gid1" ] && return
	(run ibv_devinfo -v) >"$e2e_dir/client" 2>&1
	verdict 1 "$dev0 and $dev1 have an IPv4-mapped RoCE v2 GID" "'$gid0' and '$gid1'"
	gid0=${gid0:-none} gid1=${gid1:-none}
}

# all_pairs: a program of each host with one of each other
all_pairs() {
	e2e_done=
	for e2e_a in $hosts; do
		for e2e_b in $e2e_done; do
			between "$e2e_a" "$e2e_b"
			next_port
			both "$e2e_limit" ibv_rc_pingpong -d "$dev0" -g "$gid0" -p "$e2e_port" -c -n 100 -- \
				ibv_rc_pingpong -d "$dev1" -g "$gid1" -p "$e2e_port" -c -n 100 127.0.0.1 &&
				grep -q 'iters in' "$e2e_dir/client"
			verdict $? "$1: $e2e_b and $e2e_a"
		done
		e2e_done="$e2e_done $e2e_a"
	done
}

# check NAME PYTHON: true of c, all counters by owner and name, 0 if there is none
check() {
	timeout 20 "$WEFTCTL" -j counters >"$e2e_dir/server"
	check_file "$@"
}
# check_file NAME PYTHON: of those that are in the file server already
check_file() {
	python3 -c '
import collections, json, sys
c = collections.defaultdict(collections.Counter)
c.update({k: collections.Counter(v) for k, v in json.load(open(sys.argv[1]))["counters"].items()})
'"$2" "$e2e_dir/server" >"$e2e_dir/client" 2>&1
	verdict $? "$1" "$(tail -n 1 "$e2e_dir/client" | cut -c 1-70)"
}
# buffers_are_empty NAME
buffers_are_empty() {
	check "$1: buffers are empty, and have been used" '
used = {k: (v["buffer_used"], v["buffer_used_max"]) for k, v in c.items() if "buffer_used_max" in v}
print(used)
assert used and all(now == 0 and most > 0 for now, most in used.values())'
}
start "$topo/leaf-spine.conf"
between weft0 weft2
pingpong ibv_rc_pingpong -c -n 200
# Who has nothing of its own to receive gets what others flood, and each of that once.
check "each broadcast reaches a host once" '
at = {"weft0": "leaf0/0", "weft1": "leaf0/1", "weft2": "leaf1/0", "weft3": "leaf1/1"}
for host in ("weft1", "weft3"):
    sent = sum(c[port]["rx_flooded"] for h, port in at.items() if h != host)
    print(host, "of", sent, "got", c[host]["rx_packets"])
    assert sent > 0 and c[host]["rx_packets"] == sent'
all_pairs leaf-spine
between weft0 weft2
pair ib_write_bw -n 500 -q 16
timeout 20 "$WEFTCTL" nodes >"$e2e_dir/client"
[ "$(grep -c 'beside the tree' "$e2e_dir/client")" = 2 ] && grep -q ' 4 prefixes; buffer' "$e2e_dir/client"
verdict $? "weftctl shows which link is beside the tree"
check "flows spread over both spines" '
spines = [c[s + "/" + p]["tx_packets"] for s in ("spine0", "spine1") for p in "01"]
print(spines)
assert all(n > 500 for n in spines)'

# A program at work while one spine is cut off, and then the other.
pair_start ib_write_bw -D 6 -q 4
sleep 1
set_fault leaf0/2 fault_down yes
sleep 1
set_fault leaf0/2 fault_down no
set_fault spine1/1 fault_down yes
sleep 1
pair_end
verdict $? "a program goes on while links go down" "$(grep -E '^ *65536' "$e2e_dir/bw" | tr -s ' ')"
all_pairs "leaf-spine without a link"
set_fault spine1/1 fault_down no
buffers_are_empty leaf-spine

for fabric in dumbbell two-paths; do
	start "$topo/$fabric.conf"
	all_pairs $fabric
	between weft0 weft2
	pair ib_write_bw -n 500 -q 4
	buffers_are_empty $fabric
done

# A host in another process, whose address a key of the port says: over both spines to it, too.
mkdir "$e2e_dir/outside"
sed 's/^ports = ring:h2,/& link:h4,/
$a\
[port link:h4]\
hosts = 10.77.0.5' "$topo/leaf-spine.conf" >"$e2e_dir/outside/fabric.conf"
start "$e2e_dir/outside/fabric.conf"
cat >"$e2e_dir/host4.conf" <<'CONF'
[nic weft4]
port = link:h4
ip = 10.77.0.5
CONF
setup_start host4
daemon_wait weft4
verdict $? "a host in a process of its own is active"
hosts="weft0 weft1 weft2 weft3 weft4"
between weft4 weft1
pingpong ibv_rc_pingpong -c -n 200
between weft0 weft4
pair ib_write_bw -n 500 -q 16
timeout 20 "$WEFTCTL" -s fabric -j counters >"$e2e_dir/server"
check_file "flows to it spread over both spines" '
spines = [c[s + "/1"]["tx_packets"] for s in ("spine0", "spine1")]
print(spines)
assert all(n > 20 for n in spines)'
e2e_end
