#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Applications and daemons that are killed (-9) at any moment of any call.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

if [ -n "${WEFT_TEST_LONG-}" ]; then
	app_rounds=200
	daemon_rounds=50
	host_rounds=100
else
	app_rounds=30
	daemon_rounds=3
	host_rounds=3
fi

e2e_start

(run_for 1500 "$WEFT_CRASH" apps $dev0 $dev1 $app_rounds "$e2e_daemon") >"$e2e_dir/client" 2>&1
verdict $? "$app_rounds applications killed: the daemon forgets them, peers fail, others go on" \
	"$(grep -E '^(rss|others)' "$e2e_dir/client" | tr '\n' ';')"

# A daemon of their own, for those who kill it.
sed 's/10\.77\./10.79./g; s/weft0/other0/g; s/weft1/other1/g' "$WEFT_CONF" >"$e2e_dir/other.conf"
(run_for 1500 "$WEFT_CRASH" daemon other0 other1 $daemon_rounds "$e2e_dir/other.conf") \
	>"$e2e_dir/client" 2>&1
verdict $? "a daemon killed $daemon_rounds times: programs are told, and open the next one" \
	"$(grep '^longest' "$e2e_dir/client")"

# A host of a fabric of four processes; its switch and the other two live on.
printf '[nic far0]\nport = link:far0\nip = 10.80.0.1\n' >"$e2e_dir/far0.conf"
printf '[nic far1]\nport = link:far1\nip = 10.80.0.2\n' >"$e2e_dir/far1.conf"
printf '[nic far2]\nport = link:far2\nip = 10.80.0.3\n' >"$e2e_dir/far2.conf"
printf '[switch sw9]\nports = link:far0, link:far1, link:far2\n' >"$e2e_dir/far.conf"
far_pids=
for name in far far1 far2; do
	daemon_start $name "$e2e_dir/$name.conf"
	far_pids="$far_pids $daemon_pid"
done
daemon_wait far1 && daemon_wait far2
(run_for 1500 "$WEFT_CRASH" host far0 far1 $host_rounds "$e2e_dir/far0.conf" far2) \
	>"$e2e_dir/client" 2>&1
code=$?
for pid in $far_pids; do
	e2e_signal 0 "$pid" || code=1
done
verdict $code "a host's daemon killed $host_rounds times: switch and other hosts live on" \
	"$(grep '^longest' "$e2e_dir/client")"

e2e_end
