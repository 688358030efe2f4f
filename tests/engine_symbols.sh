#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Engines are pure: an engine's object file reaches for nothing but mem*, libm, a failed assert and
# libgcc's helpers, exports its ops and nothing else, and has no variables that could be written.
#   engine_symbols.sh INSTRUMENTED ARCHIVE...
# INSTRUMENTED names the sanitizers, or coverage, of the build: instrumented objects call their run
# time, so all but "none" are skipped.
set -eu
export LC_ALL=C
instrumented=${1:?usage: engine_symbols.sh INSTRUMENTED ARCHIVE...}
shift
[ "$instrumented" = none ] || { echo "skipped: built with $instrumented"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

libc='memcpy|memmove|memset|memcmp|memchr|__mem(cpy|move|set)_chk'
libm='exp|exp2|expm1|log|log2|log10|log1p|pow|sqrt|cbrt|hypot|fabs|fmin|fmax|fmod'
libm="$libm|floor|ceil|trunc|round|lround|llround|rint|lrint|llrint|nearbyint|ldexp|frexp"
libgcc='__(popcount|parity|clz|ctz|ffs|bswap)[sdt]i2'
libgcc="$libgcc|__(udiv|umod|div|mod|mul|ashl|ashr|lshr|neg)[dt]i[234]|__u?divmod[dt]i4"
libgcc="$libgcc|__float(un)?[dt]i[sd]f|__fix(uns)?[sd]f[dt]i"
compiler='__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_'
allowed="^($libc|$libm|$libgcc|$compiler)$"

failed=0
engines=0
fail() {
	echo "FAIL  $1: $2"
	failed=$((failed + 1))
}

for archive; do
	dir=$(dirname "$archive")
	# Archives of a build directory are thin: a member's name is its path from the archive.
	for member in $(ar t "$archive"); do
		object=$member
		[ -f "$object" ] || object=$dir/$member
		[ -f "$object" ] || { fail "$member" "object not found"; continue; }
		name=$(basename "$object")
		nm -u -P "$object" | cut -d' ' -f1 >"$scratch/wants"
		nm -g --defined-only -P "$object" | cut -d' ' -f1 >"$scratch/gives"

		if [ "$name" = engines.c.o ]; then
			# The list: refers to engines, and is what it gives.
			others=$(grep -vE '_ops$|^_GLOBAL_OFFSET_TABLE_$' "$scratch/wants" | tr '\n' ' ')
			[ -z "$others" ] || fail "$name" "refers to $others"
			continue
		fi
		engines=$((engines + 1))
		others=$(grep -vE "$allowed" "$scratch/wants" | tr '\n' ' ')
		[ -z "$others" ] || fail "$name" "refers to $others"
		gives=$(tr '\n' ' ' <"$scratch/gives")
		case $gives in
		*' '*' ' | '') fail "$name" "should give one ..._ops, gives: $gives" ;;
		*_ops' ') ;;
		*) fail "$name" "should give one ..._ops, gives: $gives" ;;
		esac
		# Tables of pointers are .data.rel.ro: constant once loaded.
		written=$(size -A "$object" | awk '
			$1 ~ /^\.t?(data|bss)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0 {printf "%s ", $1}')
		[ -z "$written" ] || fail "$name" "has variables in $written"
	done
done
echo "$engines engines, $failed failed"
[ "$engines" -gt 0 ] && [ "$failed" = 0 ]
