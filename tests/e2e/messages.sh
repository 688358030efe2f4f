#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What users are told: each failure names its cause and what to do about it. Two patterns per row,
# which must be in one line.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# says FILE CAUSE REMEDY NAME
says() {
	grep -E -- "$2" "$1" | grep -qE -- "$3"
	verdict $? "$4" "$(grep -E -- "$2" "$1" | tail -n 1 | sed "s|$e2e_dir|DIR|g; s|^weftd: ||")"
}

# refused SITUATION: misuse, its own words in client
refused() {
	(
		foreign_environment
		exec timeout -k 5 60 "$WEFT_MISUSE" "$1" $dev0 $dev1
	) >"$e2e_dir/client" 2>&1 || echo "misuse failed: $?" >>"$e2e_dir/client"
	! grep -q 'misuse failed' "$e2e_dir/client"
}

# ---- no daemon ----
(WEFT_SOCKET=$e2e_dir/none.sock run ibv_devices) >"$e2e_dir/client" 2>&1
says "$e2e_dir/client" 'no weftd is running \(looked in .*none.sock\)' "start one with 'weftd CONF'" \
	"no daemon"

e2e_start

# ---- to the program ----
while IFS='|' read -r situation cause remedy; do
	refused "$situation" || cause='misuse failed'
	says "$e2e_dir/client" "$cause" "$remedy" "$situation"
done <<'ROWS'
device|no device nothing0|there are weft0, weft1
gid|weft0: no GID index 200|ibv_devinfo -v
path|weft0 refused to change QP 0x[0-9a-f]* from INIT to RTR: there is no GID 200|there are 0, 1 \(see 'ibv_devinfo -v'
unmapped|is not registered: not all of it is mapped|register what the program has allocated
rights|is not registered: remote writes|need local write access
ROWS

# ---- to the operator ----
while IFS='|' read -r situation cause remedy; do
	: >"$e2e_dir/weftd"
	refused "$situation" || cause='misuse failed'
	says "$e2e_dir/weftd" "$cause" "$remedy" "$situation, in the log"
done <<'ROWS'
path|from INIT to RTR: there is no GID 200|ibv_devinfo -v
unreachable|no neighbour answers for the peer's address|is the address right
silent|retry count exceeded|is its program alive
no_receives|the peer posts no receives|post receives sooner
wrong_key|the peer refused access|check rkey, range and access flags
wrong_key|as responder: rkey, bounds or access|check rkey, range and access flags
ROWS

# ---- GIDs ----
# pingpong_fails OPTION0 OPTION1: the server is the first to notice, and its words are in server
pingpong_fails() {
	next_port
	# shellcheck disable=SC2086 # words
	! both 20 ibv_rc_pingpong -d $dev0 $1 -p $e2e_port -n 5 -- \
		ibv_rc_pingpong -d $dev1 $2 -p $e2e_port -n 5 127.0.0.1
}
pingpong_fails '' ''
says "$e2e_dir/server" 'without a GRH, which RoCE needs' 'choose a GID, with -g INDEX' "no GID"
pingpong_fails '-g 0' "-g $gid1"
says "$e2e_dir/server" "weft0 refused to change .* from INIT to RTR: GID 0 is fe80:[^ ]*, and the peer's 10.77.0.2:" \
	'choose both of IPv4 or both of IPv6' "GIDs of two kinds"

# ---- drained ----
"$WEFTCTL" drain $dev1 >/dev/null
(run ibv_devinfo -d $dev1) >"$e2e_dir/client" 2>&1
says "$e2e_dir/client" 'weft: weft1 is drained by an operator' "until 'weftctl resume weft1'" "a drained NIC"
"$WEFTCTL" resume $dev1 >/dev/null

# ---- no permission ----
# as_nobody PROGRAM ARGS...
as_nobody() {
	foreign_environment
	exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
if [ "$(id -u)" = 0 ] && (as_nobody test -x "$WEFT_MISUSE") 2>/dev/null &&
	(as_nobody test -x "$WEFT_RUN") 2>/dev/null; then
	(as_nobody "$WEFT_MISUSE" socket x x) >"$e2e_dir/client" 2>&1
	says "$e2e_dir/client" "$e2e_dir.*: no permission: its folder" 'set WEFT_RUNTIME_DIR' \
		"no permission for the folder"
	chmod 755 "$e2e_dir"
	chmod 660 "$e2e_dir/loopback.sock"
	(as_nobody "$WEFT_MISUSE" socket x x) >"$e2e_dir/client" 2>&1
	says "$e2e_dir/client" "loopback.sock: no permission: its daemon serves group $(getent group 0 | cut -d: -f1) only" \
		"join that group, or see 'group' in weft.conf" "no permission for the socket"
	(as_nobody "$WEFT_RUN" true) >"$e2e_dir/client" 2>&1
	says "$e2e_dir/client" 'loopback.sock: no permission' 'join that group' "the same to weft-run"
	says "$e2e_dir/client" 'no weftd that you may use \(looked in' 'see above, or start one of your own' \
		"and that there is one"
	! grep 'is running' "$e2e_dir/client"
	verdict $? "not that there is none"
	# Any Ethernet interface will do: it is not touched.
	interface=$(grep -lx 1 /sys/class/net/*/type | cut -d/ -f5 | head -n 1)
	mkdir "$e2e_dir/nobody"
	chown 65534:65534 "$e2e_dir/nobody"
	printf '[nic far0]\nport = af_packet:%s\n' "$interface" >"$e2e_dir/far.conf"
	(
		WEFT_RUNTIME_DIR=$e2e_dir/nobody
		as_nobody timeout 20 "$WEFTD" "$e2e_dir/far.conf"
	) >"$e2e_dir/client" 2>&1
	if [ -n "$interface" ]; then
		says "$e2e_dir/client" "$interface: .*not permitted" 'it needs CAP_NET_RAW' \
			"no permission for an interface"
	else
		verdict 0 "no permission for an interface # SKIP there is no Ethernet interface"
	fi
	chmod 700 "$e2e_dir"
else
	verdict 0 "no permission # SKIP needs root, and a build that every user may read"
fi

# ---- the daemon does not start ----
# start_fails CAUSE REMEDY NAME, the conf on stdin
start_fails() {
	cat >"$e2e_dir/bad.conf"
	timeout 20 "$WEFTD" "$e2e_dir/bad.conf" >"$e2e_dir/client" 2>&1
	[ $? = 1 ] || echo "it started" >"$e2e_dir/client"
	says "$e2e_dir/client" "$1" "$2" "$3"
}
start_fails 'device weft0: held by daemon loopback \(pid' 'end that one, or use another name' \
	"a device that another daemon has" <"$WEFT_CONF"
start_fails "unknown key 'prot'" "nearest: 'port'" "a misspelt key" <<'CONF'
[nic far0]
prot = ring:a
ip = 10.99.0.1
CONF
start_fails "'gbm'" 'known: gbn' "an engine that does not exist" <<'CONF'
[nic far0]
port = ring:a
ip = 10.99.0.1
reliability = gbm
CONF
start_fails "no interface nothing99" 'there are: .*lo' "an interface that does not exist" <<'CONF'
[nic far0]
port = af_packet:nothing99
CONF

e2e_end
