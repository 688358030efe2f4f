#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ibv_*_pingpong between the devices; -c compares every received buffer.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ibv_rc_pingpong

e2e_start

pingpong ibv_rc_pingpong
pingpong ibv_rc_pingpong -c
pingpong ibv_rc_pingpong -e
pingpong ibv_rc_pingpong -N
pingpong ibv_rc_pingpong -N -e -c
for mtu in 256 512 1024 2048 4096; do
	pingpong ibv_rc_pingpong -m $mtu -s 10000 -n "$(reps 100)" -c
done
pingpong ibv_rc_pingpong -s 1 -c
pingpong ibv_rc_pingpong -s 1000000 -n "$(reps 50)" -c
pingpong ibv_rc_pingpong -r 1
pingpong ibv_uc_pingpong
pingpong ibv_uc_pingpong -e -c
pingpong ibv_ud_pingpong
pingpong ibv_ud_pingpong -e -c
pingpong ibv_ud_pingpong -s 1
pingpong ibv_srq_pingpong
pingpong ibv_srq_pingpong -e -c
pingpong ibv_srq_pingpong -q 1 -r 10

# Two QPs of one device.
gid_of_1=$gid1
dev1=$dev0 gid1=$gid0
pingpong ibv_rc_pingpong -c
dev1=weft1 gid1=$gid_of_1

# IPv6, found by neighbour discovery.
six0=$(gid_index $dev0 'fe80:')
six1=$(gid_index $dev1 'fe80:')
[ -n "$six0" ] && [ -n "$six1" ]
verdict $? "both devices have a link-local GID" "$six0, $six1"
gid0=$six0 gid1=$six1
pingpong ibv_rc_pingpong -c
pingpong ibv_ud_pingpong -c

e2e_end
