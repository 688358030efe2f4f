#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts and a switch in processes of their own: the programs of the other tests, and what the
# death of one process does to the others. A long run goes through those tests as a whole.
# shellcheck disable=SC2086 # words
WEFT_E2E_SETUP=three
export WEFT_E2E_SETUP
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs ib_write_bw ib_write_lat ib_read_bw ib_send_bw ib_send_lat ib_atomic_bw ibv_rc_pingpong

if [ -n "${WEFT_TEST_LONG-}" ]; then
	for set in pingpong write read send atomic; do
		"$(dirname "$0")/$set.sh" >"$e2e_dir/set" 2>&1
		code=$?
		grep '^not ok' "$e2e_dir/set" | sed 's/^/# /'
		verdict $code "$set.sh" "$(grep -c '^ok' "$e2e_dir/set") passed"
	done
fi

e2e_start

pingpong ibv_rc_pingpong -c -s 10000 -n 200
pingpong ibv_uc_pingpong -c
pingpong ibv_ud_pingpong -c
pingpong ibv_srq_pingpong -e -c
pair ib_write_bw --report_gbits -s 65536 -n 2000 -m 4096
pair ib_write_bw -s 4096 -n 500 -q 16 -b -m 1024
pair ib_write_lat -s 8 -n 1000
pair ib_read_bw -s 65536 -n 500
pair ib_send_bw -s 65536 -n 500
pair ib_send_lat -s 64 -n 500
pair ib_atomic_bw -A FETCH_AND_ADD -n 500

# Moments of death come from a seed: awk's dice.
seed=${WEFT_SEED:-$$}
echo "# seed $seed"
nap_nb=0
# nap MAX_MS: for a random time
nap() {
	nap_nb=$((nap_nb + 1))
	sleep "$(awk -v seed=$((seed + nap_nb)) -v max="$1" 'BEGIN { srand(seed); print rand() * max / 1000 }')"
}

# kill_daemon NAME
kill_daemon() {
	victim=$(setup_pid "$1")
	setup_forget "$victim"
	e2e_signal KILL "$victim"
	wait "$victim" 2>/dev/null
}

# Whoever waits for a peer knows.
kill_daemon switch
port_is $dev0 PORT_DOWN && port_is $dev1 PORT_DOWN
verdict $? "without the switch both ports are down"
setup_start switch
setup_wait
verdict $? "with a new one both are active"
pair ib_write_bw -s 65536 -n 200

# Within their retry budget, 8 x 1.07 s, queue pairs notice nothing but a delay.
next_port
server_start 60 ib_write_bw -d $dev0 -x "$gid0" -F -p $e2e_port -s 65536 -u 18 -D 5
(run_for 60 ib_write_bw -d $dev1 -x "$gid1" -F -p $e2e_port -s 65536 -u 18 -D 5 127.0.0.1) \
	>"$e2e_dir/client" 2>&1 &
client=$!
sleep 2
kill_daemon switch
sleep 0.5
setup_start switch
wait $client
code=$?
wait "$server_pid" && [ $code = 0 ] && [ "$(perftest_rows)" = 1 ]
verdict $? "queue pairs go on through a new switch" \
	"$(grep -E '^ *[0-9]+ +[0-9]+ +[0-9]' "$e2e_dir/client" | tr -s ' ')"

# A third end of a link has to wait, and says why.
sed 's/weft1/weft9/; s/10.77.0.2/10.77.0.9/' "$e2e_dir/host1.conf" >"$e2e_dir/host9.conf"
daemon_start third "$e2e_dir/host9.conf"
third=$daemon_pid
port_is weft9 PORT_DOWN && grep 'has both its ends already' "$e2e_dir/third" >/dev/null
verdict $? "a third end is told that the link has two" "$(tail -n 1 "$e2e_dir/third")"
e2e_stop $third

# Bystanders: a switch with a third host, whose daemon dies again and again while the others talk.
kill_daemon switch
sed 's/^ports = .*/&, link:host2/' "$e2e_dir/switch.conf" >"$e2e_dir/switch3.conf"
sed 's/weft1/weft2/; s/host1/host2/; s/10.77.0.2/10.77.0.3/' "$e2e_dir/host1.conf" >"$e2e_dir/host2.conf"
setup_start switch3
setup_start host2
setup_wait && port_is weft2 PORT_ACTIVE
verdict $? "a switch with three hosts"
next_port
server_start 60 ib_write_bw -d $dev0 -x "$gid0" -F -p $e2e_port -s 65536 -D 8
talk_server=$server_pid
(run_for 60 ib_write_bw -d $dev1 -x "$gid1" -F -p $e2e_port -s 65536 -D 8 127.0.0.1) >"$e2e_dir/talk" 2>&1 &
talk_client=$!
nb_deaths=0
while e2e_signal 0 $talk_client && [ $nb_deaths -lt "$(reps 5)" ]; do
	# Someone talks to it as it dies.
	next_port
	server_start 20 ib_write_bw -d weft2 -x "$(gid_index weft2 '::ffff:')" -F -p $e2e_port -D 10
	(run_for 20 ib_write_bw -d $dev0 -x "$gid0" -F -p $e2e_port -D 10 127.0.0.1) >/dev/null 2>&1 &
	nap 1500
	kill_daemon host2
	nb_deaths=$((nb_deaths + 1))
	e2e_stop $! $server_pid
	setup_start host2
	port_is weft2 PORT_ACTIVE || break
done
wait $talk_client
code=$?
cp "$e2e_dir/talk" "$e2e_dir/client"
wait $talk_server && [ $code = 0 ] && [ "$(perftest_rows)" = 1 ] && [ $nb_deaths -ge 2 ]
verdict $? "others talk on while a host dies $nb_deaths times" \
	"$(grep -E '^ *[0-9]+ +[0-9]+ +[0-9]' "$e2e_dir/talk" | tr -s ' ')"

# Each in turn dies under traffic, at any moment; then all goes on with its successor.
round=0
while [ $round -lt "$(reps 6)" ]; do
	case $((round % 3)) in
	0) name=host1 ;;
	1) name=switch3 ;;
	2) name=host0 ;;
	esac
	round=$((round + 1))
	next_port
	server_start 30 ib_write_bw -d $dev0 -x "$gid0" -F -p $e2e_port -D 20
	(run_for 30 ib_write_bw -d $dev1 -x "$gid1" -F -p $e2e_port -D 20 127.0.0.1) >"$e2e_dir/client" 2>&1 &
	client=$!
	nap 1000
	kill_daemon $name
	nap 300
	setup_start $name
	setup_wait
	code=$?
	e2e_stop $client $server_pid
	verdict $code "$name killed under traffic: it comes back, and the links with it"
	pair ib_write_bw -s 65536 -n 200
done

e2e_end
