#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# A weftd and a guest with rxe on one link, and matches of the same program on both sides. Sourced by
# tests that with-guest runs. Beside that of e2e/lib.sh, its environment (meson.build) has:
#
#   WEFT_GUEST   folder of the guest's kernel and files
#   WEFT_PEER    the program 'peer'
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/interop/guest.sh
. "$(dirname "$0")/guest.sh"

# The link is a tap, whose other end is the guest's NIC. Its addresses are the kernel's and weft's.
interop_link=link0
interop_ip=10.79.0.1
interop_ip6=fd79::1

# An emulator on a busy machine is slow.
e2e_limit=$((e2e_limit * 3))

# The GIDs that the next match uses on both sides.
interop_family=ip
weft_gid=
rxe_gid=

# link_open TAP ADDRESS...: this side of one.
link_open() {
	link_tap=$1
	shift
	ip tuntap add dev "$link_tap" mode tap
	ip link set "$link_tap" mtu "$guest_mtu" up
	for link_address; do
		ip addr add "$link_address" dev "$link_tap"
	done
}

# interop_open: the link, with its guest booting.
interop_open() {
	ip link set lo up
	# Nobody else can have an address of ours.
	echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
	link_open $interop_link $interop_ip/24 $interop_ip6/64
	# shellcheck disable=SC2046 # words
	guest_boot "$WEFT_GUEST" $(guest_nic $interop_link 52:54:00:00:00:02)
}

# interop_ready: the guest is up, with what it needs.
interop_ready() {
	guest_wait 240 && guest_put "$WEFT_PEER"
	e2e_code=$?
	verdict $e2e_code "a guest with rxe boots" "$(guest 5 cat /proc/uptime | cut -d ' ' -f 1) s"
	[ $e2e_code = 0 ] || e2e_end
	interop_gids=$(guest 10 ibv_devinfo -v -d rxe0 | grep GID)
}

# weftd_on KIND [KEY...]: a weftd with one NIC on the link, in the place of one that runs already.
weftd_on() {
	interop_kind=$1
	shift
	[ -z "$e2e_daemon" ] || e2e_stop "$e2e_daemon"
	export WEFT_RUNTIME_DIR="$e2e_dir"
	{
		echo "[nic $dev0]"
		echo "port = $interop_kind:$interop_link"
		for interop_key; do
			echo "$interop_key"
		done
	} >"$e2e_dir/loopback.conf"
	daemon_start weftd "$e2e_dir/loopback.conf"
	e2e_daemon=$daemon_pid
	daemon_wait $dev0
	e2e_code=$?
	verdict $e2e_code "weftd on $interop_kind starts${*:+ with $*}"
	[ $e2e_code = 0 ] || e2e_end
	use_family $interop_family
}

# use_family ip|ip6: GIDs of that kind, for the matches that follow. (The programs' own TCP goes over
# IPv4: not all of them know another.)
use_family() {
	interop_family=$1
	case $1 in
	ip) set -- "::ffff:$interop_ip" "::ffff:$guest_ip" ;;
	ip6) set -- "$interop_ip6" "$guest_ip6" ;;
	esac
	weft_gid=$(gid_index "$dev0" "$1")
	rxe_gid=$(echo "$interop_gids" | sed -n "s/.*GID\\[ *\\([0-9]*\\)\\]:[[:space:]]*$2,.*/\\1/p")
	if [ -z "$weft_gid" ] || [ -z "$rxe_gid" ]; then
		verdict 1 "both sides have a GID of $1 and $2"
	fi
}

# words SIDE WORD...: with DEV and GID replaced by what they are called on that side.
words() {
	case $1 in
	weft) interop_names="s/DEV/$dev0/;s/GID/$weft_gid/" ;;
	rxe) interop_names="s/DEV/rxe0/;s/GID/$rxe_gid/" ;;
	esac
	shift
	for interop_word; do
		printf '%s\n' "$interop_word" | sed "$interop_names"
	done | tr '\n' ' '
}

# The server's command there, once it listens on $e2e_port, says so.
guest_serve() {
	interop_hex=$(printf ':%04X [0-9A-F:]* 0A' "$e2e_port")
	guest_start "$e2e_dir/server" $((e2e_limit + 10)) "$* & pid=\$!; " \
		"until grep -q '$interop_hex' /proc/net/tcp /proc/net/tcp6; do" \
		"kill -0 \$pid || break; usleep 20000; done; echo listening; wait \$pid"
	interop_job=$guest_job
	guest_says "$e2e_dir/server" listening
}

# match SERVER PROG WORD...: the same program and options on both sides, DEV and GID replaced; SERVER
# is weft or rxe, and the other side connects to it. 0 if both end with 0.
match() {
	interop_server=$1
	shift
	next_port
	# shellcheck disable=SC2046,SC2086 # words
	if [ "$interop_server" = weft ]; then
		server_start $e2e_limit $(words weft "$@") -p $e2e_port
		guest_start "$e2e_dir/client" $e2e_limit "$(words rxe "$@") -p $e2e_port $interop_ip"
		guest_end "$e2e_dir/client" $guest_job
		client_code=$?
		[ $client_code = 0 ] || e2e_signal TERM $server_pid
		wait $server_pid
		server_code=$?
	else
		guest_serve "$(words rxe "$@") -p $e2e_port"
		(run_for $e2e_limit $(words weft "$@") -p $e2e_port "$guest_ip") \
			>"$e2e_dir/client" 2>&1
		client_code=$?
		[ $client_code = 0 ] || guest 10 "killall -9 $(basename "$1")" >/dev/null
		guest_end "$e2e_dir/server" $interop_job
		server_code=$?
	fi
	[ $client_code = 0 ] && [ $server_code = 0 ] && return
	echo "(ended with $client_code)" >>"$e2e_dir/client"
	echo "(ended with $server_code)" >>"$e2e_dir/server"
	return 1
}
