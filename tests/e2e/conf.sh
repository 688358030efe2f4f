#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weftd --check: the shipped files are good, and each kind of mistake is told with file and line.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

for conf in "$(dirname "$WEFT_CONF")"/*.conf "$(dirname "$WEFT_CONF")"/topo/*.conf; do
	timeout 10 "$WEFTD" --check "$conf" >"$e2e_dir/client" 2>&1
	verdict $? "$(basename "$conf") is good"
done

# mistake NAME LINE PATTERN, the file on stdin: refused by --check and at start alike
mistake() {
	cat >"$e2e_dir/bad.conf"
	for option in --check ''; do
		# shellcheck disable=SC2086 # no word or one
		timeout 10 "$WEFTD" $option "$e2e_dir/bad.conf" >"$e2e_dir/client" 2>&1
		[ $? = 1 ] && grep -q "^$e2e_dir/bad.conf:$2: .*$3" "$e2e_dir/client"
		verdict $? "$1 ${option:-at start}" "$(head -n 1 "$e2e_dir/client" | sed 's|.*/||')"
	done
}

mistake "an unknown key, with the nearest known one" 2 "'prot'.*'port'" <<'CONF'
[nic weft0]
prot = ring:a
ip = 10.77.0.1
CONF
mistake "an unknown section, with the nearest known one" 1 "'nick'.*nic" <<'CONF'
[nick weft0]
port = ring:a
CONF
mistake "a bad unit" 4 'mtu' <<'CONF'
[nic weft0]
port = ring:a
ip = 10.77.0.1
mtu = 4us
CONF
mistake "a value out of range" 4 'mtu.*out of range' <<'CONF'
[nic weft0]
port = ring:a
ip = 10.77.0.1
mtu = 100
CONF
mistake "an unknown engine, with the known ones" 4 "'gbm'.*known: gbn" <<'CONF'
[nic weft0]
port = ring:a
ip = 10.77.0.1
reliability = gbm
CONF
mistake "a missing section" '[0-9]*' 'nic' <<'CONF'
# nothing but a comment
CONF
mistake "a missing key" 1 'port' <<'CONF'
[nic weft0]
ip = 10.77.0.1
CONF

sed '/^\[nic weft1\]/a mtu = 1500' "$WEFT_CONF" >"$e2e_dir/mtus.conf"
timeout 10 "$WEFTD" --check "$e2e_dir/mtus.conf" >"$e2e_dir/client" 2>&1 &&
	grep -q 'warning: .*weft1.* path MTU 1024 (mtu 1500)' "$e2e_dir/client"
verdict $? "path MTUs that differ are a warning" "$(sed 's|.*/||;1q' "$e2e_dir/client")"
mistake "a group that isn't there" 2 "'no-such-group'" <<'CONF'
[daemon]
group = no-such-group
[nic weft0]
port = ring:a
ip = 10.77.0.1
CONF
mistake "a line that is too long" 2 'more than 199 characters' <<CONF
[switch sw0]
ports = $(seq -f 'ring:link%g' -s , 64)
CONF
mistake "a link without its other end" 2 "ring 'b' has only one end" <<CONF
[switch sw0]
ports = ring:a, ring:b
[switch sw1]
ports = ring:a
CONF
mistake "a port that is named twice" 2 'lo has the port of line 2 already' <<CONF
[switch sw0]
ports = af_packet:lo, af_xdp:lo
CONF
mistake "a host that cannot be reached" 7 'nic weft0.*switch sw2.*cannot be reached from .switch sw0' <<CONF
[switch sw0]
ports = ring:a
[switch sw1]
ports = ring:a
[switch sw2]
ports = ring:b
[nic weft0]
port = ring:b
ip = 10.77.0.1
CONF
mistake "a route that runs in a circle" 6 'circle: sw1, sw0, sw1' <<CONF
[switch sw0]
ports = ring:a
route = ::/0 ring:a
[switch sw1]
ports = ring:a
route = 10.0.0.0/8 ring:a
CONF
mistake "a port that a route does not know" 3 "'ring:b'.*nearest: 'ring:a'" <<CONF
[switch sw0]
ports = ring:a
route = 10.77.0.0/16 ring:b
CONF
mistake "what a switch cannot do" 3 'telemetry knows links of' <<CONF
[switch sw0]
ports = link:a
int = yes
CONF

: >"$e2e_dir/empty.conf"
timeout 10 "$WEFTD" --check "$e2e_dir/empty.conf" >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q "^$e2e_dir/empty.conf: neither" "$e2e_dir/client"
verdict $? "an empty file has no line to name" "$(sed 's|.*/||' "$e2e_dir/client")"
for path in /dev/zero /dev/urandom; do
	timeout 10 "$WEFTD" --check "$path" >"$e2e_dir/client" 2>&1
	[ $? = 1 ] && [ "$(wc -l <"$e2e_dir/client")" = 1 ] && grep -q "^$path: more than" "$e2e_dir/client"
	verdict $? "$path has no end" "$(head -n 1 "$e2e_dir/client" | tr -d '\0')"
done
# shellcheck disable=SC2002 # a pipe is meant
cat "$WEFT_CONF" | timeout 10 "$WEFTD" --check /dev/stdin >"$e2e_dir/client" 2>&1
verdict $? "a conf from a pipe" "$(head -n 1 "$e2e_dir/client")"
timeout 10 "$WEFTD" "$e2e_dir/none.conf" >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q '^weftd: .*/none.conf: No such file' "$e2e_dir/client"
verdict $? "a file that isn't there" "$(tail -n 1 "$e2e_dir/client" | sed 's|.*/||')"
timeout 10 "$WEFTD" --no-such-option >"$e2e_dir/client" 2>&1
[ $? = 2 ] && [ "$(cat "$e2e_dir/client")" = "weftd: unknown option '--no-such-option' (try --help)" ]
verdict $? "an unknown option" "$(cat "$e2e_dir/client")"
timeout 10 "$WEFTD" --check -vx >"$e2e_dir/client" 2>&1
[ $? = 2 ] && [ "$(cat "$e2e_dir/client")" = "weftd: unknown option '-x' (try --help)" ]
verdict $? "an unknown short option" "$(cat "$e2e_dir/client")"

for option in --check ''; do
	# shellcheck disable=SC2086 # no word or one
	WEFT_RUNTIME_DIR=run/weft timeout 10 "$WEFTD" $option "$WEFT_CONF" >"$e2e_dir/client" 2>&1
	[ $? = 1 ] && grep -q '^environment: WEFT_RUNTIME_DIR=run/weft is not an absolute path' "$e2e_dir/client"
	verdict $? "a relative folder of sockets ${option:-at start}" "$(sed 's|.*/||' "$e2e_dir/client")"
done
for option in --check ''; do
	# shellcheck disable=SC2086 # no word or one
	WEFT_RUNTIME_DIR=$e2e_dir/no/such timeout 10 "$WEFTD" $option "$WEFT_CONF" >"$e2e_dir/client" 2>&1
	[ $? = 1 ] && grep -q "$e2e_dir/no.*: make it" "$e2e_dir/client"
	verdict $? "a folder of sockets two levels deep ${option:-at start}" "$(sed "s|$e2e_dir|DIR|g" "$e2e_dir/client")"
	for port in link:$e2e_dir/no/x.sock memif:$e2e_dir/no/x.sock,server; do
		printf '[nic far0]\nip = 10.99.0.1\nport = %s\n' "$port" >"$e2e_dir/bad.conf"
		# shellcheck disable=SC2086
		WEFT_RUNTIME_DIR=$e2e_dir timeout 10 "$WEFTD" $option "$e2e_dir/bad.conf" >"$e2e_dir/client" 2>&1
		[ $? = 1 ] && grep -q "x.sock: there is no folder $e2e_dir/no: make it" "$e2e_dir/client"
		verdict $? "no folder for a ${port%%:*} ${option:-at start}" "$(sed "s|$e2e_dir|DIR|g" "$e2e_dir/client")"
	done
done
WEFT_RUNTIME_DIR=run/weft timeout 10 "$WEFT_RUN" true >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q '^weft: WEFT_RUNTIME_DIR=run/weft is not an absolute path$' "$e2e_dir/client"
verdict $? "a relative folder of sockets, to a program" "$(head -n 1 "$e2e_dir/client")"
mkdir -m 777 "$e2e_dir/open"
WEFT_RUNTIME_DIR="$e2e_dir/open" timeout 10 "$WEFT_RUN" true >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q "^weft: ignoring $e2e_dir/open: others may write there\$" "$e2e_dir/client"
verdict $? "a folder in which others may write, to a program" "$(sed 's|/.*/||;1q' "$e2e_dir/client")"
WEFT_RUNTIME_DIR="$e2e_dir/open" timeout 10 "$WEFTD" "$WEFT_CONF" >"$e2e_dir/client" 2>&1
[ $? = 1 ] && grep -q "$e2e_dir/open: others may write there\$" "$e2e_dir/client"
verdict $? "a folder in which others may write, at start" "$(sed 's|/.*/||;1q' "$e2e_dir/client")"

e2e_end
