#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a program sees before it creates anything.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ibv_devices ibv_devinfo

e2e_start

(run ibv_devices) >"$e2e_dir/client" 2>&1
verdict $? "ibv_devices"
for device in $dev0 $dev1; do
	grep -qw "$device" "$e2e_dir/client"
	verdict $? "ibv_devices lists $device"
done
[ "$(grep -cE 'weft[01][[:space:]]+[0-9a-f]{16}$' "$e2e_dir/client")" = 2 ] &&
	[ "$(grep -oE '[0-9a-f]{16}$' "$e2e_dir/client" | sort -u | wc -l)" = 2 ]
verdict $? "their GUIDs differ"

for device in $dev0 $dev1; do
	(run ibv_devinfo -v -d "$device") >"$e2e_dir/client" 2>&1
	verdict $? "ibv_devinfo -v -d $device"
	while read -r pattern name; do
		grep -qE "$pattern" "$e2e_dir/client"
		verdict $? "$device: $name"
	done <<-'ROWS'
		state:.*PORT_ACTIVE                 the port is active
		link_layer:.*Ethernet               it is an Ethernet port
		max_mtu:.*4096                      path MTUs up to 4096
		active_mtu:.*(1024|2048|4096)       an active MTU of 1024 or more
		max_qp:.*[0-9]{2}                   more than ten QPs
		max_qp_rd_atom:.*[1-9]              READs and atomics
		atomic_cap:.*ATOMIC_HCA             atomics among the device's QPs
		max_srq:.*[1-9]                     shared receive queues
		max_mw:.*[1-9]                      memory windows
		GID.*::ffff:10\.77\.0\.[12].*RoCE.v2 a RoCE v2 GID of its IPv4 address
		GID.*fe80:.*RoCE.v2                 a RoCE v2 GID of a link-local address
	ROWS
done

# An option that names no device is an error of the program, not a crash of the shim.
(run ibv_devinfo -d no_such_device) >"$e2e_dir/client" 2>&1
code=$?
[ $code = 1 ] || [ $code = 255 ]
verdict $? "ibv_devinfo of a device that isn't there: an error"

e2e_end
