# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# What every end-to-end test uses: weftds of its own, pairs of unmodified programs, verdicts.
#
# A test is a list of calls of pair, pingpong and verdict between 'e2e_start' and 'e2e_end'. It
# knows only the outside: weftd CONF stays in the foreground, weft-run execs PROG ARGS, and the conf
# file below makes two devices. Its output is TAP. Its environment (tests/e2e/meson.build):
#
#   WEFTD, WEFT_RUN, WEFTCTL, WEFT_PERF  the programs under test
#   WEFT_CONF           conf/loopback.conf
#   WEFT_E2E_SETUP      one: a weftd of that file (default); three: one for each of conf/three/, two
#                       hosts and a switch
#   WEFT_E2E_PRELOAD    libasan.so in a sanitizer build: programs that aren't ours must load it first
#   WEFT_TEST_LONG      not empty: full counts

# A first argument is the framing of the NICs, instead of what their conf says.
e2e_framing=${1-}

set -u
export LC_ALL=C
# meson puts the shim's folder there, and programs would find it without weft-run.
unset LD_LIBRARY_PATH

e2e_count=0
e2e_failed=0
# Pids of the daemons that e2e_start started, or that took their place.
e2e_daemon=
e2e_daemon_lines=0
e2e_deaths=0
# Dead ones are not replaced any more.
e2e_is_over=
e2e_pids=
dev0=weft0
dev1=weft1
# Ports for the programs' own TCP exchange: two tests at once don't meet, and no client of anything
# has one of them, as Linux gives those from 32768 on.
e2e_port=$((20000 + $$ % 390 * 32))
e2e_dir=$(mktemp -d)
chmod 700 "$e2e_dir"

# reps N: N, or ten times as many in a long run.
reps() {
	if [ -n "${WEFT_TEST_LONG-}" ]; then echo $(($1 * 10)); else echo "$1"; fi
}

# e2e_needs PROGRAM...: skip the whole test if one is missing.
e2e_needs() {
	for e2e_program; do
		command -v "$e2e_program" >/dev/null 2>&1 || {
			echo "1..0 # SKIP $e2e_program is not installed"
			rm -rf "$e2e_dir"
			exit 0
		}
	done
}

# e2e_signal SIGNAL PID: if it is still a child of this shell. Once the shell has collected it, its
# number may be anybody's.
e2e_signal() {
	grep -q "^PPid:[[:space:]]*$$\$" "/proc/$2/status" 2>/dev/null && kill "-$1" "$2" 2>/dev/null
}

# verdict CODE NAME [NOTE]: one line of TAP; on failure also the ends of what the programs said, and
# what the daemon said since the last verdict. A daemon that died is replaced, once said so.
verdict() {
	e2e_count=$((e2e_count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $e2e_count - $2${3:+   ($3)}"
	else
		e2e_failed=$((e2e_failed + 1))
		echo "not ok $e2e_count - $2"
		for e2e_log in client server; do
			[ -s "$e2e_dir/$e2e_log" ] || continue
			tail -n 6 "$e2e_dir/$e2e_log" | sed "s/^/#   $e2e_log: /"
		done
		[ ! -f "$e2e_dir/weftd" ] ||
			tail -n "+$((e2e_daemon_lines + 1))" "$e2e_dir/weftd" | sed 's/^/#   /'
	fi
	[ ! -f "$e2e_dir/weftd" ] || e2e_daemon_lines=$(wc -l <"$e2e_dir/weftd")
	[ -z "$e2e_is_over" ] || return 0
	e2e_ended=
	for e2e_pid in $e2e_daemon; do
		e2e_signal 0 "$e2e_pid" && continue
		wait "$e2e_pid"
		eval "e2e_name=\${e2e_conf_$e2e_pid-loopback}"
		echo "#   weftd $e2e_name has ended, code $?"
		e2e_deaths=$((e2e_deaths + 1))
		setup_forget "$e2e_pid"
		e2e_ended="$e2e_ended $e2e_name"
	done
	for e2e_name in $e2e_ended; do
		setup_start "$e2e_name"
	done
	[ -z "$e2e_ended" ] || setup_wait || e2e_end
}

# foreign_environment: for programs that aren't ours in a sanitizer build; their leaks are not our
# matter.
foreign_environment() {
	[ -n "${WEFT_E2E_PRELOAD-}" ] || return 0
	export WEFT_PRELOAD="$WEFT_E2E_PRELOAD" ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
}

# run PROG ARGS...: under weft-run, with the daemon of this test. Always in a subshell, which the
# program replaces, so that $! is its pid.
run() {
	foreign_environment
	exec "$WEFT_RUN" "$@"
}

# run_for SECONDS PROG ARGS...: the same, ended after a time with code 124.
run_for() {
	e2e_run_for=$1
	shift
	foreign_environment
	exec timeout -k 5 "$e2e_run_for" "$WEFT_RUN" "$@"
}

# daemon_start NAME CONF: weftd in the background, its pid in $daemon_pid, its output in NAME.
# $e2e_inside: words in front of it, 'ip netns exec NAMESPACE'.
daemon_start() {
	# shellcheck disable=SC2086 # words
	${e2e_inside-} "$WEFTD" "$2" >>"$e2e_dir/$1" 2>&1 &
	daemon_pid=$!
	e2e_pids="$e2e_pids $daemon_pid"
}

# daemon_wait DEVICE: until the device is active; 10 s at most (a sanitizer build starts slowly).
daemon_wait() {
	e2e_tries=0
	while [ $e2e_tries -lt 100 ]; do
		e2e_signal 0 "$daemon_pid" || return 1
		(run ibv_devinfo -d "$1") >"$e2e_dir/client" 2>&1 &&
			grep -q PORT_ACTIVE "$e2e_dir/client" && return 0
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
	return 1
}

# port_is DEVICE STATE: within 10 s
port_is() {
	e2e_tries=0
	until (run ibv_devinfo -d "$1") 2>/dev/null | grep "$2" >/dev/null; do
		e2e_tries=$((e2e_tries + 1))
		[ $e2e_tries -lt 100 ] || return 1
		sleep 0.1
	done
}

# gid_index DEVICE PATTERN: of the first RoCE v2 GID that matches.
gid_index() {
	(run ibv_devinfo -v -d "$1") 2>/dev/null |
		sed -n "s/.*GID\\[ *\\([0-9]*\\)\\]:[[:space:]]*\\($2\\).*RoCE v2.*/\\1/p" | head -n 1
}

# setup_start NAME: a weftd of NAME.conf in the socket directory, whose pid joins $e2e_daemon.
setup_start() {
	daemon_start weftd "$e2e_dir/$1.conf"
	e2e_daemon="${e2e_daemon:+$e2e_daemon }$daemon_pid"
	eval "e2e_conf_$daemon_pid=$1"
}

# setup_pid NAME: of the weftd of NAME.conf.
setup_pid() {
	for e2e_pid in $e2e_daemon; do
		eval "[ \"\$e2e_conf_$e2e_pid\" = $1 ]" && echo "$e2e_pid"
	done
}

# setup_forget PID: it is no daemon of this test any more.
setup_forget() {
	e2e_others=
	for e2e_pid in $e2e_daemon; do
		[ "$e2e_pid" = "$1" ] || e2e_others="${e2e_others:+$e2e_others }$e2e_pid"
	done
	e2e_daemon=$e2e_others
}

# setup_wait: until both devices are active; in separate processes also their links are then.
setup_wait() {
	daemon_wait $dev0 && daemon_wait $dev1
}

# e2e_start: the daemons of this test, in a socket directory of their own.
e2e_start() {
	export WEFT_RUNTIME_DIR="$e2e_dir"
	case ${WEFT_E2E_SETUP:-one} in
	one) e2e_confs=$WEFT_CONF ;;
	three) e2e_confs="${WEFT_CONF%/*}/three/*.conf" ;;
	*) verdict 1 "WEFT_E2E_SETUP is one or three" && e2e_end ;;
	esac
	for e2e_conf in $e2e_confs; do
		cp "$e2e_conf" "$e2e_dir/" 2>/dev/null
		[ -z "$e2e_framing" ] ||
			sed -i "s/^ip = .*/&\nframing = $e2e_framing/" "$e2e_dir/${e2e_conf##*/}"
		e2e_name=${e2e_conf##*/}
		setup_start "${e2e_name%.conf}"
	done
	if ! setup_wait; then
		verdict 1 "weftd starts and $dev0 is active"
		e2e_end
	fi
	gid0=$(gid_index $dev0 '::ffff:')
	gid1=$(gid_index $dev1 '::ffff:')
	if [ -z "$gid0" ] || [ -z "$gid1" ]; then
		(run ibv_devinfo -v -d $dev0) >"$e2e_dir/client" 2>&1
		verdict 1 "both devices have an IPv4-mapped RoCE v2 GID"
		e2e_end
	fi
}

# e2e_stop PID...: processes that this test started.
e2e_stop() {
	for e2e_pid; do
		e2e_signal TERM "$e2e_pid" || continue
		e2e_tries=0
		while e2e_signal 0 "$e2e_pid" && [ $e2e_tries -lt 50 ]; do
			sleep 0.1
			e2e_tries=$((e2e_tries + 1))
		done
		e2e_signal KILL "$e2e_pid"
		wait "$e2e_pid" 2>/dev/null
	done
}

# e2e_end: the daemons outlived everything, and end when they are told to.
e2e_end() {
	trap - EXIT INT TERM
	e2e_is_over=yes
	rm -f "$e2e_dir/client" "$e2e_dir/server"
	if [ -n "$e2e_daemon" ]; then
		verdict $e2e_deaths "weftd is alive after it all"
		e2e_ending=$e2e_daemon
		(
			sleep 10
			for e2e_pid in $e2e_ending; do
				e2e_signal KILL "$e2e_pid"
			done
		) >/dev/null 2>&1 &
		e2e_timer=$!
		for e2e_pid in $e2e_daemon; do
			e2e_signal TERM "$e2e_pid"
		done
		e2e_code=0
		for e2e_pid in $e2e_daemon; do
			wait "$e2e_pid" 2>/dev/null || e2e_code=$?
		done
		e2e_daemon=
		e2e_signal TERM $e2e_timer
		verdict $e2e_code "weftd ends with 0 on SIGTERM" "exit code $e2e_code"
	fi
	# shellcheck disable=SC2086 # pids
	e2e_stop $e2e_pids
	rm -rf "$e2e_dir"
	echo "1..$e2e_count"
	[ $e2e_failed = 0 ]
	exit
}

e2e_abort() {
	trap - EXIT INT TERM
	# shellcheck disable=SC2086 # pids
	e2e_stop $e2e_pids
	rm -rf "$e2e_dir"
	echo "Bail out! the test itself was ended"
	exit 1
}
trap e2e_abort EXIT INT TERM

# server_start SECONDS PROG ARGS...: in the background, pid in $server_pid; returns when it listens
# on $e2e_port or has ended.
server_start() {
	e2e_seconds=$1
	shift
	(run_for "$e2e_seconds" "$@") >"$e2e_dir/server" 2>&1 &
	server_pid=$!
	e2e_pids="$e2e_pids $server_pid"
	e2e_tries=0
	e2e_listens=$(printf ':%04X [0-9A-F]*:0000 0A' $e2e_port)
	while [ $e2e_tries -lt 200 ] && e2e_signal 0 $server_pid; do
		cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep "$e2e_listens" >/dev/null && return
		sleep 0.05
		e2e_tries=$((e2e_tries + 1))
	done
}

# both SECONDS PROG0_ARGS -- PROG1_ARGS: server and client to their ends; 0 if both end with 0.
# A client that fails takes its server with it.
both() {
	e2e_seconds=$1
	shift
	e2e_server=
	while [ "$1" != -- ]; do
		e2e_server="$e2e_server $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # words without spaces
	server_start "$e2e_seconds" $e2e_server
	(run_for "$e2e_seconds" "$@") >"$e2e_dir/client" 2>&1
	client_code=$?
	[ $client_code = 0 ] || e2e_signal TERM "$server_pid"
	wait "$server_pid"
	server_code=$?
	[ $client_code = 0 ] && [ $server_code = 0 ]
}

next_port() {
	e2e_port=$((e2e_port + 1))
}

# The seconds that a pair may take; a sanitizer build and a long run take longer.
e2e_limit=40
[ -z "${WEFT_E2E_PRELOAD-}" ] || e2e_limit=$((e2e_limit * 3))
[ -z "${WEFT_TEST_LONG-}" ] || e2e_limit=$((e2e_limit * 10))

# pingpong PROG ARGS...: ibv_*_pingpong, server on $dev0, client on $dev1.
pingpong() {
	e2e_prog=$1
	shift
	next_port
	both $e2e_limit "$e2e_prog" -d $dev0 -g "$gid0" -p $e2e_port "$@" -- \
		"$e2e_prog" -d $dev1 -g "$gid1" -p $e2e_port "$@" 127.0.0.1 &&
		grep -q 'iters in' "$e2e_dir/client"
	verdict $? "$e2e_prog $*" "$(grep -oE '[0-9.]+ usec/iter' "$e2e_dir/client")"
}

# perftest_rows: rows of figures in the client's report.
perftest_rows() {
	grep -cE '^ *[0-9]+ +[0-9]+ +[0-9]+\.[0-9]' "$e2e_dir/client"
}

# pair PROG ARGS...: a program of perftest, server on $dev0, client on $dev1, same options.
pair() {
	e2e_prog=$1
	shift
	next_port
	# -a goes through the sizes 2^1 to 2^23; everything else reports one.
	e2e_rows=1
	case " $* " in *' -a '*) e2e_rows=23 ;; esac
	both $e2e_limit "$e2e_prog" -d $dev0 -x "$gid0" -F -p $e2e_port "$@" -- \
		"$e2e_prog" -d $dev1 -x "$gid1" -F -p $e2e_port "$@" 127.0.0.1 &&
		[ "$(perftest_rows)" = $e2e_rows ]
	verdict $? "$e2e_prog $*" "$(grep -E '^ *[0-9]+ +[0-9]+ +[0-9]' "$e2e_dir/client" |
		tail -n 1 | tr -s ' ')"
}

# pair_start PROG ARGS...: the same in the background; returns when the client's QP is ready. What the
# client says is in the file bw.
pair_start() {
	e2e_prog=$1
	shift
	next_port
	server_start 90 "$e2e_prog" -d $dev0 -x "$gid0" -F -p $e2e_port "$@"
	(run_for 90 "$e2e_prog" -d $dev1 -x "$gid1" -F -p $e2e_port "$@" 127.0.0.1) >"$e2e_dir/bw" 2>&1 &
	client_pid=$!
	e2e_pids="$e2e_pids $client_pid"
	e2e_tries=0
	until timeout 20 "$WEFTCTL" qps $dev1 | grep RTS >/dev/null || [ $e2e_tries = 100 ]; do
		sleep 0.1
		e2e_tries=$((e2e_tries + 1))
	done
}

# pair_end: waits for both; 0 if both end with 0 and the client has its figures.
pair_end() {
	wait $client_pid
	client_code=$?
	wait "$server_pid"
	server_code=$?
	cp "$e2e_dir/bw" "$e2e_dir/client"
	[ $client_code = 0 ] && [ $server_code = 0 ] && [ "$(perftest_rows)" = 1 ]
}

# set_fault TARGET KEY VALUE: of a NIC or a port of a switch, from now on.
set_fault() {
	timeout 20 "$WEFTCTL" set "$@" >"$e2e_dir/client" 2>"$e2e_dir/server"
	verdict $? "set $*" "$(cat "$e2e_dir/client" "$e2e_dir/server" | head -n 1 | cut -c 1-70)"
}
