#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ib_send_bw and ib_send_lat between the devices.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ib_send_bw ib_send_lat

e2e_start

pair ib_send_bw --report_gbits -s 65536 -n "$(reps 2000)" -m 4096
pair ib_send_bw --report_gbits -s 65536 -n "$(reps 1000)" -m 1024
pair ib_send_bw -s 65536 -n "$(reps 500)" -m 256
# perftest measures the clock rate before each row of a report: all sizes take 6 s, or 25 for lat.
pair ib_send_bw -a -n "$(reps 20)"
[ -z "${WEFT_TEST_LONG-}" ] || pair ib_send_bw -a -b -n 100
pair ib_send_bw -s 4096 -n "$(reps 2000)" -b
pair ib_send_bw -s 4096 -n "$(reps 1000)" -q 16
pair ib_send_bw -s 4096 -n "$(reps 1000)" -q 16 -b
pair ib_send_bw -s 64 -n "$(reps 20000)" -q 4
pair ib_send_bw -s 1 -n "$(reps 1000)" -t 1
pair ib_send_bw -s 4096 -n "$(reps 1024)" -l 16
pair ib_send_bw -s 65536 -D 1
pair ib_send_lat -s 8 -n "$(reps 2000)"
pair ib_send_lat -s 65536 -n "$(reps 200)"
[ -z "${WEFT_TEST_LONG-}" ] || pair ib_send_lat -a -n 100
pair ib_send_bw -s 4096 -n "$(reps 1000)" -e
pair ib_send_bw -s 4096 -n "$(reps 1000)" -r 1
pair ib_send_bw -s 64 -n "$(reps 2000)" -I 64
pair ib_send_lat -s 64 -n "$(reps 1000)" -I 64
pair ib_send_lat -s 8 -n "$(reps 1000)" -e
pair ib_send_bw --use-srq -q 4 -s 4096 -n "$(reps 1000)"
pair ib_send_bw --use-srq -q 16 -s 65536 -n "$(reps 100)"
pair ib_send_lat --use-srq -s 64 -n "$(reps 1000)"
pair ib_send_bw -c UC -s 65536 -n "$(reps 500)"
pair ib_send_lat -c UC -s 64 -n "$(reps 1000)"
pair ib_send_bw -c UD -s 1024 -n "$(reps 1000)"
pair ib_send_lat -c UD -s 64 -n "$(reps 1000)"
pair ib_send_lat -c UD -s 64 -n "$(reps 1000)" -e

e2e_end
