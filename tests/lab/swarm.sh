#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Random scenarios, weft-lab swarm: the same seeds each time, or seeds that nobody has seen before, for a
# minute. With WEFT_TEST_LONG more of either. What is found is on stdout, small, for weft-lab run.
#   swarm.sh WEFT_LAB fixed|fresh
set -eu
lab=${1:?usage: swarm.sh WEFT_LAB fixed|fresh}
long=${WEFT_TEST_LONG:-}
case ${2:?usage: swarm.sh WEFT_LAB fixed|fresh} in
fixed) set -- --seeds "1..${long:+20}00" ;; # 100, or 2000
fresh) set -- --time "${long:+10}60s" ;;    # 60 s, or 1060
esac
[ -z "$long" ] || exec 2>>"${WEFT_TEST_PROGRESS:-/dev/stderr}"
exec "$lab" swarm --timeout 10min "$@"
