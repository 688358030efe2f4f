#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# dissector.sh EXAMPLES RANDOM SOURCE: the worked examples as tshark shows them, random packets as lib/wire
# reads them, mutated ones that must not confuse it, and plain RoCE, which is left to its own dissector.
set -u
export LC_ALL=C
examples=$1 random=$2 source=$3
lua=$source/tools/wireshark
command -v tshark >/dev/null 2>&1 || {
	echo "tshark is not installed (tools/deps does)"
	exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# shark FILE ARGS...: its output in out, what went wrong in err
shark() {
	file=$1
	shift
	HOME=$dir timeout 60 tshark -X "lua_script:$lua/weft.lua" -X "lua_script:$lua/weft_hello.lua" \
		-r "$file" "$@" >"$dir/out" 2>"$dir/err" || {
		echo "tshark ends with $?:"
		cat "$dir/err"
		failed=1
	}
	if grep -m 3 -i 'lua error\|weft.*\.lua' "$dir/out" "$dir/err"; then
		failed=1
	fi
}

"$examples" >"$dir/examples.pcapng"
set --
for field in weft.opcode weft.psn weft.cum weft.msn weft.emsn weft.retry weft.sph.offset weft.ssn \
	weft.reth.length weft.payload.length weft.syndrome weft.value weft.int.hop.rate \
	weft.int.hop.queue weft.path.k weft.n.ssn weft.b.bits weft.header_only weft_hello.type \
	weft_hello.engine weft_hello.status weft_hello.msgs; do
	set -- "$@" -e $field
done
shark "$dir/examples.pcapng" -T fields -E 'separator=|' "$@" -e _ws.col.Info
sed '/^#/d' >"$dir/want" <<'ROWS'
# opcode, PSN, cum, MSN, eMSN, retry, offset, SSN, DMA length, payload, syndrome, value, rates, queues, K, refused
# SSN, bitmap, header-only; HELLO: type, engine, status, messages
0xe6|256||7||0|||600|256|||||||||||||WRITE FIRST PSN=256 MSN=7
0xe7|257||7||0|||600|256|||||||||||||WRITE MIDDLE PSN=257 MSN=7
0xe8|258||7||0|||600|88|||||||||||||WRITE LAST PSN=258 MSN=7
0xe7|257||7||1|||600|256|||||||||||||WRITE MIDDLE PSN=257 MSN=7
0xe7|257||7||0|||600|256|||||||||||||WRITE MIDDLE PSN=257 MSN=7
0xe7|257||7||0||||||||||||1|||||trimmed WRITE MIDDLE PSN=257 MSN=7
0xf9|257||7||0||||||||||||1|||||BOUNCE PSN=257 MSN=7
0xe7|257||7||0||||||||||||1|||||trimmed WRITE MIDDLE PSN=257 MSN=7
0xf1||259||8|0|||||0x40|3|||||||||||ACK, counting cum=259 eMSN=8
0xf1||4||0|0|||||0x60|5|||||||||||NACK, gap cum=4 eMSN=0
0xf1||256||7|0|||||0x1f|259|||||0x000000000000000e||||||ACK cum=256 eMSN=7
0xea|11||11||0|||8|8|||||4||||||||WRITE ONLY PSN=11 MSN=11
0xf1||7||1|0|||||0x65|7|||||||||||NACK, resend cum=7 eMSN=1
0xec|512||9||0|||8||||||||||||||READ REQUEST PSN=512 MSN=9
0xf0|2304||0||0|0|||8|||||||||||||READ RESPONSE ONLY PSN=2304 MSN=0
0xf3|513||10||0|||||||||||||||||CMP_SWAP PSN=513 MSN=10
0xf2|2305||1||0|||||||||||||||||ATOMIC RESPONSE PSN=2305 MSN=1
0xe5|515||11||0|0|5||3|||||||||||||SEND ONLY with immediate PSN=515 MSN=11
0xf1||516||12|0|||||0x1f|515||||5|||||||ACK cum=516 eMSN=12
0xf5|518||13||0|256|7|||||||||||||||VOID PSN=518 MSN=13
0xeb|516||12||0||6|0|0|||||||||||||WRITE ONLY with immediate PSN=516 MSN=12
0xf1||258||7|0|||||0x62|258|||||||||||fatal: access cum=258 eMSN=7
0xea|768||32||0|||8|8|||||||||||||WRITE ONLY PSN=768 MSN=32
0xea|768||32||0|||8|8|||100|79872|||||||||WRITE ONLY PSN=768 MSN=32
0xea|768||32||0|||8|8|||100,400|79872,4096000|||||||||WRITE ONLY PSN=768 MSN=32
0xf1||769||33|0|||||0x1f|768|100,400|79872,4096000|||||||||ACK cum=769 eMSN=33
||||||||||||||||||1|irn|||HELLO
||||||||||||||||||2||||COOKIE
||||||||||||||||||1|irn|||HELLO
||||||||||||||||||3|irn|||WELCOME
||||||||||||||||||4|irn|0|256|OPEN
||||||||||||||||||5|irn|0|256|ANSWER
||||||||||||||||||5|dcp|2|256|ANSWER
ROWS
diff "$dir/want" "$dir/out" || failed=1

# ---- other fields: each that a packet has, with its number and name ----

set --
for field in weft.qpn weft.a weft.pad weft.map.n weft.map.r weft.sph.length weft.request weft.reth.va \
	weft.reth.rkey weft.order.ssn weft.order.emsn weft.atomic.swap weft.atomic.compare weft.atomic.orig \
	weft.imm weft.int.nhop weft.int.tbo weft.int.path weft.int.hop.time weft.int.hop.bytes weft.path.o \
	weft.path.fpsn weft.path.back weft.ts weft.held weft.b.offset weft.n.timer weft.n.msn weft.icrc \
	weft_hello.boot weft_hello.token weft_hello.features weft_hello.own_qpn weft_hello.peer_qpn \
	weft_hello.mtu weft_hello.rq_psn weft_hello.sq_psn weft_hello.window weft_hello.options weft_hello.features.trim \
	weft_hello.options.sack weft_hello.options.sq_psn; do
	set -- "$@" -e $field
done
shark "$dir/examples.pcapng" -T fields -E header=y -E 'separator=|' "$@"
awk -F'|' 'NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; next }
	{ for (i = 1; i <= NF; i++) if ($i != "") print NR - 1, name[i], $i }' "$dir/out" >"$dir/all"
sed '/^#/d' >"$dir/want" <<'ROWS'
# in the order of docs/wire.md: where a WRITE goes, an ICRC (the wire has its bytes in this order, last
# first), SACK and echo, path header, order words, READ, atomics, SEND, refusal, VOID, INT
3 weft.qpn 0x000011
3 weft.a 1
3 weft.reth.va 0x0000000000010200
3 weft.reth.rkey 0x12345678
3 weft.icrc 0xfdad1b66
11 weft.b.offset 0
11 weft.ts 16000000
11 weft.held 1500
12 weft.path.o 1
12 weft.path.fpsn 11
12 weft.path.back 255
14 weft.order.ssn 5
14 weft.order.emsn 0
15 weft.sph.length 8
15 weft.request 9
16 weft.atomic.swap 0x1122334455667788
16 weft.atomic.compare 0x0000000000000001
16 weft.order.ssn 5
16 weft.order.emsn 1
17 weft.request 10
17 weft.atomic.orig 0x0000000000000001
18 weft.pad 1
18 weft.sph.length 3
18 weft.imm 0xcafef00d
19 weft.n.timer 12
19 weft.n.msn 11
20 weft.sph.length 600
21 weft.imm 0x00000001
25 weft.map.n 2
25 weft.int.nhop 2
25 weft.int.tbo 1
25 weft.int.path 0x6bc6
25 weft.int.hop.time 1000000,16777200
25 weft.int.hop.bytes 12800000,268435200
26 weft.int.hop.bytes 12800000,268435200
# HELLO, OPEN, ANSWER
27 weft_hello.boot 0xb00700000000000a
27 weft_hello.token 0x0000000000000000
27 weft_hello.features 0x0000001f
27 weft_hello.features.trim 1
31 weft_hello.token 0x70ce00000000000b
31 weft_hello.own_qpn 0x000022
31 weft_hello.peer_qpn 0x000011
31 weft_hello.mtu 3
31 weft_hello.rq_psn 2304
31 weft_hello.sq_psn 256
31 weft_hello.window 512
31 weft_hello.options 0x0020
31 weft_hello.options.sack 0
31 weft_hello.options.sq_psn 1
32 weft_hello.rq_psn 256
32 weft_hello.sq_psn 0
ROWS
grep -vxFf "$dir/all" "$dir/want" && {
	echo "these are not shown; what is of those packets:"
	cut -d ' ' -f 1 "$dir/want" | sort -un | while read -r n; do
		grep "^$n " "$dir/all"
	done
	failed=1
}

# ---- nothing is wrong with them, also in captures that have a part of each packet ----

wrong='weft.cut || weft.behind || weft.unknown || weft.int.lies || weft.int.hop.unknown || weft_hello.cut'
shark "$dir/examples.pcapng" -Y "$wrong"
[ -s "$dir/out" ] && {
	echo "examples that are called malformed:"
	cat "$dir/out"
	failed=1
}

for bytes in 58 62 80 120; do
	editcap -s $bytes "$dir/examples.pcapng" "$dir/snapped.pcapng"
	shark "$dir/snapped.pcapng" -Y "frame.cap_len < frame.len && (weft.icrc || weft.header_only || $wrong)"
	[ -s "$dir/out" ] && {
		echo "of $bytes bytes of each packet too much is said of its end:"
		cat "$dir/out"
		failed=1
	}
done
shark "$dir/snapped.pcapng" -Y 'frame.number <= 3' -T fields -e weft.payload.length
[ "$(tr '\n' ' ' <"$dir/out")" = "256 256 88 " ] || {
	echo "payload of packets that are not whole:"
	cat "$dir/out"
	failed=1
}

# ---- packets with any optional parts, field by field as lib/wire reads them ----

set --
for field in $("$random"); do
	set -- "$@" -e "$field"
done
for seed in 1 2 3; do
	"$random" 1000 $seed "$dir/random.pcapng" >"$dir/want"
	shark "$dir/random.pcapng" -T fields -E header=y -E 'separator=|' "$@"
	awk -F'|' 'NR == FNR { want[FNR] = $0; next }
		FNR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; next }
		{
			split(want[FNR - 1], w, "|")
			for (i = 1; i <= length(w); i++)
				if (w[i] != "-" && w[i] != $i)
					print "packet " FNR - 1 ": " name[i] " is " w[i] ", shown: " $i
		}
		END { if (FNR != length(want) + 1) print "of " length(want) " packets " FNR - 1 " are shown" }' \
		"$dir/want" "$dir/out" >"$dir/wrong"
	[ -s "$dir/wrong" ] && {
		echo "random $seed:"
		head -20 "$dir/wrong"
		failed=1
	}
done

# ---- names that the docs tell are fields ----

cat "$source"/README.md "$source"/docs/*.md | tr -s "\`' " '\n' |
	grep -x 'weft\(_hello\)\{0,1\}\(\.[a-z_]\{1,\}\)\{1,\}' |
	grep -vx 'weft[a-z_]*\.\(conf\|h\|c\|lua\|bpf\)' | sort -u >"$dir/named"
[ -s "$dir/named" ] || {
	echo "docs/wire.md names no field"
	failed=1
}
shark "$dir/examples.pcapng" -Y "$(paste -sd '|' "$dir/named" | sed 's/|/ || /g')"

# ---- hostile packets, and those of others ----

for seed in 1 2 3; do
	"$examples" 1000 $seed >"$dir/mutated.pcapng"
	shark "$dir/mutated.pcapng" -V
done
for name in weft.cut weft.unknown weft.int.lies weft.int.hop.unknown weft_hello.cut; do
	shark "$dir/mutated.pcapng" -Y $name
	[ -s "$dir/out" ] || {
		echo "none of the mutated packets shows $name"
		failed=1
	}
done

for file in "$source"/tests/golden/rxe-*.pcap; do
	shark "$file" -Y infiniband.bth.opcode -T fields -e infiniband.bth.opcode
	[ -s "$dir/out" ] || {
		echo "$file: nothing of it is InfiniBand any more"
		failed=1
	}
done
exit $failed
