#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# dissector.sh EXAMPLES WEFT.LUA GOLDEN: the worked examples as tshark shows them, mutated ones that must
# not confuse it, and plain RoCE, which is left to its own dissector.
set -u
export LC_ALL=C
examples=$1 lua=$2 golden=$3
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
	HOME=$dir timeout 60 tshark -X "lua_script:$lua" -r "$file" "$@" >"$dir/out" 2>"$dir/err" || {
		echo "tshark ends with $?"
		failed=1
	}
	if grep -m 3 -i 'lua error\|weft.lua' "$dir/out" "$dir/err"; then
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
0xea|768||32||0|||8|8|||100 Gb/s|79872|||||||||WRITE ONLY PSN=768 MSN=32
0xea|768||32||0|||8|8|||100 Gb/s,400 Gb/s|79872,4096000|||||||||WRITE ONLY PSN=768 MSN=32
0xf1||769||33|0|||||0x1f|768|100 Gb/s,400 Gb/s|79872,4096000|||||||||ACK cum=769 eMSN=33
||||||||||||||||||1|irn|||HELLO
||||||||||||||||||2||||COOKIE
||||||||||||||||||1|irn|||HELLO
||||||||||||||||||3|irn|||WELCOME
||||||||||||||||||4|irn|0|256|OPEN
||||||||||||||||||5|irn|0|256|ANSWER
||||||||||||||||||5|dcp|2|256|ANSWER
ROWS
diff "$dir/want" "$dir/out" || failed=1

for seed in 1 2 3; do
	"$examples" 1000 $seed >"$dir/mutated.pcapng"
	shark "$dir/mutated.pcapng" -V
done

for file in "$golden"/rxe-*.pcap; do
	shark "$file" -Y infiniband.bth.opcode -T fields -e infiniband.bth.opcode
	[ -s "$dir/out" ] || {
		echo "$file: nothing of it is InfiniBand any more"
		failed=1
	}
done
exit $failed
