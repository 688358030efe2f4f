#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The shim exports what Debian's libibverbs.so.1 does, in the same versions, and nothing else.
#   symbols.sh LIST LIBRARY
set -eu
list=${1:?usage: symbols.sh LIST LIBRARY}
library=${2:?usage: symbols.sh LIST LIBRARY}
readelf -d "$library" | grep -E 'asan|ubsan|tsan' >/dev/null && {
	echo "a sanitizer build exports more than a release does"
	exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
LC_ALL=C
export LC_ALL

readelf -W --dyn-syms "$library" | awk '$7 != "UND" && ($4 == "FUNC" || $4 == "OBJECT") &&
	$8 !~ /^IBVERBS_/ { print $8 }' | sort >"$scratch/ours"
grep -v '^#' "$list" | sort >"$scratch/theirs"
[ -s "$scratch/theirs" ] || exit 1
# Names that the shim interposes in libc carry no version.
grep -v '@' "$scratch/ours" | grep -Ev '^(madvise|mremap)$' >"$scratch/bare" || true
grep '@' "$scratch/ours" >"$scratch/versioned"

failed=0
diff "$scratch/theirs" "$scratch/versioned" || failed=1
[ ! -s "$scratch/bare" ] || {
	echo "exported without a version:"
	cat "$scratch/bare"
	failed=1
}
echo "$(wc -l <"$scratch/versioned") symbols"
[ "$failed" = 0 ]
