#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Random scenarios, weft-lab swarm: the same seeds each time, or seeds that nobody has seen before, for a
# minute. With WEFT_TEST_LONG more of either. What is found is on stdout, small, for weft-lab run.
#   swarm.sh WEFT_LAB fixed|fresh
set -eu
lab=${1:?usage: swarm.sh WEFT_LAB fixed|fresh}
long=${WEFT_TEST_LONG:-}
seeds=1..100 time=60s
[ -z "$long" ] || seeds=1..2000 time=10min
case ${2:?usage: swarm.sh WEFT_LAB fixed|fresh} in
fixed) set -- --seeds "$seeds" ;;
fresh) set -- --time "$time" ;;
esac
[ -z "$long" ] || exec 2>>"${WEFT_TEST_PROGRESS:-/dev/stderr}"
exec "$lab" swarm --timeout 10min "$@"
