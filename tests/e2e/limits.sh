#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every limit of [daemon], reached by a program: what it is told, what the log says, what is counted,
# and that others are served as before.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ibv_devinfo

cat "$WEFT_CONF" - >"$e2e_dir/limits.conf" <<'CONF'
[daemon]
name = loopback
client_qps = 4
client_mrs = 5
client_objects = 8
client_memory = 14M
client_mappings = 3
user_clients = 12
user_qps = 6
user_mrs = 7
user_objects = 12
user_memory = 22M
user_mappings = 4
CONF
WEFT_CONF=$e2e_dir/limits.conf
e2e_start

# said LINES PATTERN: since then the daemon has logged a line like that, once.
said() {
	[ "$(tail -n "+$(($1 + 1))" "$e2e_dir/weftd" | grep -c "$2")" = 1 ]
}

# counted LOG PID PATTERN: asked for its counters, a daemon logs one like that; 10 s at most.
counted() {
	e2e_signal USR1 "$2"
	e2e_tries=0
	while ! grep -q "$3" "$e2e_dir/$1" && [ $e2e_tries -lt 100 ]; do
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
	grep -q "$3" "$e2e_dir/$1"
}

# reach KIND MAX GOT ERROR KEY: one program makes MAX of a kind, which is more than it may have.
reach() {
	lines=$(wc -l <"$e2e_dir/weftd")
	(run_for 20 "$WEFT_LIMITS" $dev0 "$1" "$2") >"$e2e_dir/client" 2>&1
	[ "$(tail -n 1 "$e2e_dir/client")" = "$3 $4" ] &&
		[ "$(grep -c "^weft: $dev0 refused .*\\[daemon\\] $5 allows" "$e2e_dir/client")" = 1 ] &&
		said "$lines" "$dev0: pid [0-9]* (uid $(id -u)) was refused .*\\[daemon\\] $5 allows"
	verdict $? "$5: $3 of $1, a line for its user and one in the log" "$(tail -n 1 "$e2e_dir/weftd")"
}

enomem='Cannot allocate memory'
reach qp 1000 4 "$enomem" client_qps
reach mr 1000 5 "$enomem" client_mrs
reach mw 1000 5 "$enomem" client_mrs
# Of objects a PD and a CQ are there already.
reach pd 1000 6 "$enomem" client_objects
reach cq 1000 6 "$enomem" client_objects
reach srq 1000 6 "$enomem" client_objects
reach channel 1000 6 "$enomem" client_objects
reach large_cq 1000 3 "$enomem" client_memory
# Beyond this one registrations succeed, in a slower way.
reach buffer 4 4 granted client_mappings

# A second program of the same user finds what the first one left.
# together KIND FIRST MAX GOT ERROR KEY
together() {
	lines=$(wc -l <"$e2e_dir/weftd")
	mkfifo "$e2e_dir/hold"
	: >"$e2e_dir/server" # of the round before
	(run_for 60 "$WEFT_LIMITS" $dev0 "$1" "$2" hold) <"$e2e_dir/hold" >"$e2e_dir/server" 2>&1 &
	holder=$!
	e2e_pids="$e2e_pids $holder"
	exec 9>"$e2e_dir/hold"
	e2e_tries=0
	while ! grep -q . "$e2e_dir/server" && [ $e2e_tries -lt 100 ]; do
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
	(run_for 20 "$WEFT_LIMITS" $dev1 "$1" "$3") >"$e2e_dir/client" 2>&1
	[ "$(cat "$e2e_dir/server")" = "$2 granted" ] &&
		[ "$(tail -n 1 "$e2e_dir/client")" = "$4 $5" ] &&
		said "$lines" "$dev1: pid [0-9]* (uid $(id -u)) was refused .*\\[daemon\\] $6 allows"
	verdict $? "$6: $2 and $4 of $1" "the first: $(cat "$e2e_dir/server"); the log: $(tail -n 1 "$e2e_dir/weftd")"
	exec 9>&-
	wait $holder
	rm "$e2e_dir/hold"
}

together qp 4 1000 2 "$enomem" user_qps
together mr 5 1000 2 "$enomem" user_mrs
together cq 6 1000 2 "$enomem" user_objects
together large_cq 3 1000 2 "$enomem" user_memory
together buffer 3 2 2 granted user_mappings

# What was reached is what a program is told that there is.
(run ibv_devinfo -v -d $dev0) >"$e2e_dir/client" 2>&1
for attribute in max_qp:4 max_mr:5 max_mw:5 max_cq:8 max_srq:8 max_pd:8; do
	grep -q "^[[:space:]]*${attribute%:*}:[[:space:]]*${attribute#*:}\$" "$e2e_dir/client"
	verdict $? "ibv_devinfo: $attribute"
done

# Connections. One is the program's own, to ask which devices there are.
lines=$(wc -l <"$e2e_dir/weftd")
(run_for 20 "$WEFT_LIMITS" $dev0 client 1000) >"$e2e_dir/client" 2>&1
grep -q "^12 Resource temporarily unavailable$" "$e2e_dir/client" &&
	grep -q "raise \\[daemon\\] user_clients" "$e2e_dir/client" &&
	said "$lines" "pid [0-9]* (uid $(id -u)) was refused a connection: .*\\[daemon\\] user_clients allows"
verdict $? "user_clients: 12 devices, then EAGAIN and a line in the log" "$(head -n 1 "$e2e_dir/client")"

# Whoever is refused all the time is told of now and then.
lines=$(wc -l <"$e2e_dir/weftd")
(run_for 60 "$WEFT_LIMITS" $dev0 refusal 300) >"$e2e_dir/client" 2>&1
told=$(tail -n "+$((lines + 1))" "$e2e_dir/weftd" | grep -c 'was refused')
[ "$(grep -v '^weft: ' "$e2e_dir/client")" = "300 granted" ] && [ "$told" -lt 200 ]
verdict $? "300 refusals in a row: $told lines"

for counter in clients qps mrs objects memory mappings; do
	counted weftd "$e2e_daemon" "control refused_$counter [1-9]"
	verdict $? "counted: refused_$counter"
done

# Whoever rings too often waits, and loses nothing.
sed 's/10\.77\./10.78./g; s/weft0/slow0/g; s/weft1/slow1/g; s/name = loopback/name = slow/' \
	"$WEFT_CONF" | grep -v '_[a-z]* = [0-9]' >"$e2e_dir/slow.conf"
echo 'client_doorbells = 1000' >>"$e2e_dir/slow.conf"
daemon_start slow "$e2e_dir/slow.conf"
dev0=slow0
dev1=slow1
daemon_wait $dev0
pair ib_write_lat -s 8 -n 500
pair ib_send_bw -s 1024 -n 500 -t 1
[ "$(grep -c "slow[01]: pid [0-9]* (uid $(id -u)) rings more than 1000 doorbells per second.*\\[daemon\\] client_doorbells" \
	"$e2e_dir/slow")" -ge 2 ]
verdict $? "client_doorbells: a line in the log" "$(tail -n 1 "$e2e_dir/slow")"
counted slow "$daemon_pid" 'worker paced_doorbells [1-9]'
verdict $? "counted: paced_doorbells" "$(grep -o 'paced_doorbells.*' "$e2e_dir/slow")"

e2e_end
