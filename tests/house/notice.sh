#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The table in NOTICE and what is linked agree: nothing is linked that it doesn't name, and nothing
# stands there that isn't linked.
#   notice.sh SOURCE_ROOT BUILD_ROOT
set -eu
src=${1:?usage: notice.sh SOURCE_ROOT BUILD_ROOT}
build=${2:?usage: notice.sh SOURCE_ROOT BUILD_ROOT}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
LC_ALL=C
export LC_ALL

meson introspect --targets "$build" | python3 -c '
import json, sys
for target in json.load(sys.stdin):
    if target["type"] in ("executable", "shared library", "shared module"):
        for name in target["filename"]:
            print("installed" if target["installed"] else "tests", name)
' >"$scratch/targets"

# needed KIND: sonames that the targets of a kind ask for, our own left out.
needed() {
	while read -r kind file; do
		[ "$kind" = "$1" ] && [ -f "$file" ] || continue
		readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
	done <"$scratch/targets" | sort -u | grep -Ev '^(libweft|libibverbs)\.so' || true
}

# archives: static libraries from outside the build that installed targets take in, directly or
# through something of ours that they are linked with.
archives() {
	while read -r kind file; do
		[ "$kind" = installed ] || continue
		ninja -C "$build" -t commands "${file#"$build"/}"
	done <"$scratch/targets" | tr ' ,' '\n' |
		sed -n -e 's/^-l://' -e 's|^/.*/||' -e '/^lib[^/]*\.a$/p' | sort -u
}

# rows KIND: file column of NOTICE's table
rows() {
	sed -n "s/^    $1  *\\([^ ]*\\) .*/\\1/p" "$src/NOTICE"
}

needed installed >"$scratch/shared"
archives >"$scratch/static"
needed tests >"$scratch/all_tests"
grep -E 'asan|ubsan|tsan' "$scratch/shared" >/dev/null && {
	echo "a sanitizer build links more than a release does"
	exit 77
}
[ -s "$scratch/shared" ] || {
	echo "nothing is installed by this build"
	exit 77
}

failed=0
compare() { # KIND LIST
	matched=$(mktemp -p "$scratch")
	while read -r file; do
		row=$(rows "$1" | while read -r pattern; do
			# shellcheck disable=SC2254 # a pattern is meant
			case $file in $pattern) echo "$pattern" ;; esac
		done)
		if [ -z "$row" ]; then
			echo "FAIL  $1 $file is linked and NOTICE does not name it"
			failed=$((failed + 1))
		fi
		echo "$row" >>"$matched"
	done <"$2"
	for pattern in $(set -f; rows "$1"); do
		if ! grep -Fx -- "$pattern" "$matched" >/dev/null; then
			echo "FAIL  NOTICE names $1 $pattern, and it is not linked"
			failed=$((failed + 1))
		fi
	done
}
set -f
compare shared "$scratch/shared"
compare static "$scratch/static"

# Tests may need what the installed programs do and the rows of their own.
comm -13 "$scratch/shared" "$scratch/all_tests" >"$scratch/tests"
[ ! -s "$scratch/tests" ] || compare tests "$scratch/tests"

for header in $(rows headers); do
	if ! grep -rlF "<$header>" "$src/lib" "$src/daemon" >/dev/null; then
		echo "FAIL  NOTICE names header $header, and no source includes it"
		failed=$((failed + 1))
	fi
done
echo "$(wc -l <"$scratch/shared") shared, $(wc -l <"$scratch/static") static, $failed failed"
[ "$failed" = 0 ]
