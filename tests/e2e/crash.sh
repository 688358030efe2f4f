#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Applications and daemons that are killed (-9) at any moment of any call.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

if [ -n "${WEFT_TEST_LONG-}" ]; then
	app_rounds=200
	daemon_rounds=50
else
	app_rounds=28
	daemon_rounds=3
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

e2e_end
