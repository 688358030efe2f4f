#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# systemd accepts the unit and every drop-in, and thinks that they leave few privileges.
#   systemd.sh SOURCE_ROOT WEFTD
set -eu
src=${1:?usage: systemd.sh SOURCE_ROOT WEFTD}
weftd=$(realpath "${2:?usage: systemd.sh SOURCE_ROOT WEFTD}")
command -v systemd-analyze >/dev/null 2>&1 || {
	echo "systemd-analyze is not installed"
	exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

failed=0
# check NAME: the unit in $scratch, as it is now; its exposure is 0.0 (best) to 10.0
check() {
	# It says nothing of what is good; other units of this machine are not our matter.
	SYSTEMD_UNIT_PATH=$scratch: systemd-analyze verify --man=no "$scratch/weftd@x.service" 2>&1 |
		grep 'weftd@' >"$scratch/log" && {
		cat "$scratch/log"
		failed=$((failed + 1))
	}
	systemd-analyze security --offline=yes --threshold="$2" "$scratch/weftd@x.service" \
		>"$scratch/log" 2>&1 || {
		tail -n 3 "$scratch/log"
		echo "FAIL  $1: more exposed than $2"
		failed=$((failed + 1))
	}
	tail -n 2 "$scratch/log" | sed "s/^/$1: /"
}

sed "s|@sbindir@/weftd|$weftd|; s|@examples@|doc|" "$src/conf/systemd/weftd@.service.in" \
	>"$scratch/weftd@.service"
ln -s 'weftd@.service' "$scratch/weftd@x.service"
check unit 15
mkdir "$scratch/weftd@x.service.d"
for drop_in in "$src"/conf/systemd/*.conf; do
	name=$(basename "$drop_in")
	[ "$name" != sysusers.conf ] || continue
	cp "$drop_in" "$scratch/weftd@x.service.d/drop-in.conf"
	check "$name" 40
done
echo "$failed failed"
[ "$failed" = 0 ]
