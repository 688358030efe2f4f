#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# An install into a staging folder holds what README.md promises, and what is there works.
#   install.sh BUILD_ROOT
set -eu
build=${1:?usage: install.sh BUILD_ROOT}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

DESTDIR=$stage meson install -C "$build" --no-rebuild --quiet >"$stage/log" 2>&1 || {
	cat "$stage/log"
	exit 1
}
rm "$stage/log"
find "$stage" -type f -o -type l >"$stage.files"
trap 'rm -rf "$stage" "$stage.files"' EXIT

failed=0
fail() {
	echo "FAIL  $*"
	failed=$((failed + 1))
}

# There is one file of this path, whatever the prefix and the library folder are.
while read -r path; do
	# shellcheck disable=SC2254 # a pattern is meant
	found=$(while read -r file; do case $file in */$path) echo "$file" ;; esac; done <"$stage.files")
	[ -n "$found" ] || fail "not installed: $path"
done <<'PATHS'
sbin/weftd
bin/weft-run
bin/weftctl
bin/weft-lab
lib*/weft/libibverbs.so.1
lib*/weft/weft-lab-mpi.so
lib*/libweft.so
lib*/libweft.so.0
lib*/pkgconfig/weft.pc
include/weft.h
share/doc/weft/example.c
share/doc/weft/examples/daemon.conf
share/doc/weft/examples/loopback.conf
share/doc/weft/examples/switch.conf
share/doc/weft/examples/three/host0.conf
share/doc/weft/examples/three/host1.conf
share/doc/weft/examples/three/switch.conf
share/doc/weft/examples/systemd/af_packet.conf
lib/systemd/system/weftd@.service
lib/sysusers.d/weft.conf
share/weft/lab/fb_hadoop.cdf
share/weft/lab/websearch.cdf
share/weft/wireshark/weft.lua
share/weft/wireshark/weft_hello.lua
share/doc/weft/examples/lab/incast.scenario
share/doc/weft/LICENSE
share/doc/weft/NOTICE
share/doc/weft/README.md
share/doc/weft/fabric.md
share/doc/weft/lab.md
share/doc/weft/lab-bad-cable.png
share/doc/weft/lab-results.md
share/doc/weft/hosts.md
share/man/man1/weft-run.1
share/man/man1/weftctl.1
share/man/man1/weft-lab.1
share/man/man5/weft-scenario.5
share/man/man5/weft.conf.5
share/man/man8/weftd.8
PATHS

# The programs start from where they were put, and weft-run finds the shim there (it looks for it
# before it looks for daemons).
weftd=$(grep '/sbin/weftd$' "$stage.files")
weft_run=$(grep '/bin/weft-run$' "$stage.files")
"$weftd" --check "$(grep 'examples/loopback.conf$' "$stage.files")" >/dev/null || fail "weftd --check"
mkdir -m 700 "$stage/sockets"
WEFT_RUNTIME_DIR=$stage/sockets "$weft_run" true 2>&1 | grep 'no weftd is running' >/dev/null ||
	fail "weft-run does not find what was installed with it"

# Manual pages without a warning.
for page in $(grep '/share/man/' "$stage.files" || true); do
	if command -v mandoc >/dev/null 2>&1; then
		mandoc -T lint -W warning "$page" || fail "$page: mandoc"
	elif command -v man >/dev/null 2>&1 && command -v groff >/dev/null 2>&1; then
		warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
		[ -z "$warnings" ] || fail "$page: $warnings"
	fi
done
echo "$(wc -l <"$stage.files") files, $failed failed"
[ "$failed" = 0 ]
