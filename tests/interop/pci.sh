#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weft-perf on a NIC that belongs to it and not to the kernel: a virtio NIC of a guest, bound to
# DPDK there, against weft-perf on the tap at the other end of it.
# shellcheck source=tests/interop/lib.sh
. "$(dirname "$0")/lib.sh"

# The guest's second NIC, by its place on the PCI bus, and its tap.
pci=0000:00:08.0
pci_link=link1
pci_here=10.80.0.1
pci_there=10.80.0.2

ip link set lo up
link_open $interop_link $interop_ip/24
link_open $pci_link $pci_here/24
# shellcheck disable=SC2046 # words
guest_boot "$WEFT_GUEST" $(guest_nic $interop_link 52:54:00:00:00:02) \
	$(guest_nic $pci_link 52:54:00:00:00:08 addr=8)
guest_wait 240 && guest_put "$WEFT_PERF"
code=$?
verdict $code "a guest with two NICs boots"
[ $code = 0 ] || e2e_end

# Memory that a device can reach, and the second NIC out of the kernel's hands.
guest $e2e_limit "sysctl -q -w vm.nr_hugepages=80 && mkdir -p /dev/hugepages &&" \
	"mount -t hugetlbfs none /dev/hugepages && cd /sys/bus/pci && modprobe uio_pci_generic &&" \
	"echo $pci >devices/$pci/driver/unbind && echo uio_pci_generic >devices/$pci/driver_override &&" \
	"echo $pci >drivers_probe && ls devices/$pci/uio" >"$e2e_dir/client"
verdict $? "its second NIC is DPDK's"

guest_start "$e2e_dir/server" $e2e_limit \
	"$WEFT_PERF --hugepages --nic ip=$pci_there pci:$pci"
guest_says "$e2e_dir/server" ' waiting'
timeout $e2e_limit "$WEFT_PERF" --check -s 4096 -n "$(reps 10000)" af_packet:$pci_link \
	"$guest_ip" >"$e2e_dir/client" 2>&1
client_code=$?
guest_end "$e2e_dir/server" "$guest_job"
[ $client_code = 0 ] && [ "$guest_code" = 0 ]
verdict $? "WRITEs into the guest, data intact" "$(tail -n 1 "$e2e_dir/client" | awk '{ print $2 }')"

e2e_end
