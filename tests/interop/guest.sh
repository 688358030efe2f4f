#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# A guest with a NIC on a tap of this network namespace: boot, commands, end. Needs e2e/lib.sh.
# shellcheck disable=SC2154 # its e2e_dir and e2e_limit
#
# The processor is emulated (TCG): no /dev/kvm is needed and every machine shows the same, at the
# emulator's speed. The NIC offloads nothing, so that the tap carries what a wire would.

guest_pid=
guest_ip=10.79.0.2
guest_ip6=fd79::2
guest_mtu=4200

# guest_nic TAP MAC [PROPERTIES]: options of a NIC.
guest_nic() {
	echo "-netdev tap,id=$1,ifname=$1,script=no,downscript=no,vhost=off" \
		"-device virtio-net-pci,netdev=$1,mac=$2,host_mtu=$guest_mtu,romfile=,\
csum=off,guest_csum=off,gso=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,\
host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off${3:+,$3}"
}

# no_timer_check: on a busy machine the kernel would see too few ticks, and panic. tsc=unstable: there
# it also takes the TSC for slower than it is, and its time would pass ten times too fast.
# guest_boot CACHE OPTION...: in the background, its pid in $guest_pid. Options as of guest_nic; the
# first NIC is eth0.
guest_boot() {
	guest_cache=$1
	shift
	qemu-system-x86_64 -M pc -accel tcg,thread=multi -cpu max -smp 1 -m 512 \
		-nodefaults -display none -no-reboot -serial "file:$e2e_dir/console" \
		-kernel "$guest_cache/vmlinux" -initrd "$guest_cache/initrd.gz" \
		-append "console=ttyS0 quiet panic=-1 nokaslr mitigations=off tsc=unstable \
no_timer_check guest_ip=$guest_ip/24 guest_ip6=$guest_ip6/64 guest_mtu=$guest_mtu" \
		"$@" </dev/null >"$e2e_dir/qemu" 2>&1 &
	guest_pid=$!
	e2e_pids="$e2e_pids $guest_pid"
}

# guest_wait SECONDS: until it does what it is told; 1, with what is known, if it never does.
guest_wait() {
	guest_until=$(($(date +%s) + $1))
	until [ "$(guest 5 echo up)" = up ]; do
		if [ "$(date +%s)" -gt $guest_until ] || ! e2e_signal 0 "$guest_pid"; then
			tail -n 5 "$e2e_dir/qemu" "$e2e_dir/console" | sed 's/^/#   /'
			return 1
		fi
		sleep 0.2
	done
}

# guest_start FILE SECONDS COMMAND...: begins what sh there is to do, in at most that time; the
# output goes to FILE, and the pid of what waits for it here is in $guest_job.
guest_start() {
	guest_file=$1
	shift
	: >"$guest_file" # before anybody looks for what the last one said
	echo "$@" | timeout $(($1 + 5)) busybox nc -w 5 "$guest_ip" 1000 >"$guest_file" 2>/dev/null &
	guest_job=$!
	e2e_pids="$e2e_pids $guest_job"
}

# guest_says FILE WORD: until the output that guest_start sends there has a line that begins so, or has
# ended.
guest_says() {
	e2e_tries=0
	until grep "^$2" "$1" >/dev/null || [ $e2e_tries = $((e2e_limit * 20)) ]; do
		e2e_signal 0 "$guest_job" || return
		sleep 0.05
		e2e_tries=$((e2e_tries + 1))
	done
}

# guest_end FILE JOB: waits for it and returns its exit code (137: ended at that time; 125: the guest
# has not answered). FILE holds only the output then.
guest_end() {
	wait "$2"
	guest_code=$(tail -n 1 "$1")
	sed '$d' "$1" | sed '${/^$/d}' >"$1.output"
	mv "$1.output" "$1"
	case $guest_code in '' | *[!0-9]*) guest_code=125 ;; esac
	return "$guest_code"
}

# guest SECONDS COMMAND...: both, with the output on standard output.
guest() {
	guest_answer=$(mktemp -p "$e2e_dir")
	guest_start "$guest_answer" "$@"
	guest_end "$guest_answer" "$guest_job"
	guest_code=$?
	cat "$guest_answer"
	rm -f "$guest_answer"
	return $guest_code
}

# guest_put PROGRAM...: copies at the same places, with what they are linked with.
guest_put() {
	{
		echo "120 tar x -C / -f -"
		ldd "$@" | sed -n 's|^[[:space:]]*\([^ ]* => \)\{0,1\}\(/[^ ]*\) (.*|\2|p' | sort -u |
			tar -chf - --transform 's|^/||' --absolute-names -T - "$@"
	} | timeout 120 busybox nc -w 5 "$guest_ip" 1000 | tail -n 1 | grep '^0$' >/dev/null
}
