#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ib_write_bw and ib_write_lat between the devices.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ib_write_bw ib_write_lat

e2e_start

pair ib_write_bw --report_gbits -s 65536 -n "$(reps 2000)" -m 4096
pair ib_write_bw --report_gbits -s 65536 -n "$(reps 1000)" -m 1024
pair ib_write_bw -s 65536 -n "$(reps 500)" -m 256
# perftest measures the clock rate before each row of a report: all sizes take 6 s, or 25 for lat.
pair ib_write_bw -a -n "$(reps 20)"
[ -z "${WEFT_TEST_LONG-}" ] || pair ib_write_bw -a -b -n 100
pair ib_write_bw -s 4096 -n "$(reps 2000)" -b
pair ib_write_bw -s 4096 -n "$(reps 1000)" -q 16
pair ib_write_bw -s 4096 -n "$(reps 1000)" -q 16 -b
pair ib_write_bw -s 64 -n "$(reps 20000)" -q 4
pair ib_write_bw -s 1 -n "$(reps 1000)" -t 1
pair ib_write_bw -s 4096 -n "$(reps 1024)" -l 16
pair ib_write_bw -s 65536 -D 1
pair ib_write_lat -s 8 -n "$(reps 2000)"
pair ib_write_lat -s 65536 -n "$(reps 200)"
[ -z "${WEFT_TEST_LONG-}" ] || pair ib_write_lat -a -n 100
pair ib_write_bw -s 64 -n "$(reps 2000)" -I 64
pair ib_write_lat -s 64 -n "$(reps 1000)" -I 64
pair ib_write_lat -s 8 -n "$(reps 1000)" -I 0
pair ib_write_bw -c UC -s 65536 -n "$(reps 1000)"
pair ib_write_bw -c UC -s 4096 -n "$(reps 1000)" -q 16 -b
pair ib_write_lat -c UC -s 8 -n "$(reps 1000)"

e2e_end
