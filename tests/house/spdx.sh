#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every tracked file says its licence in its first three lines; data files cannot.
#   spdx.sh SOURCE_ROOT
set -eu
cd "${1:?usage: spdx.sh SOURCE_ROOT}"

git rev-parse --is-inside-work-tree >/dev/null 2>&1 || {
	echo "no git repository here, so no list of tracked files"
	exit 77
}

missing=0
seen=0
# core.quotepath off: names come as they are.
for file in $(git -c core.quotepath=off ls-files | grep -Ev '(^LICENSE|\.pcap|\.png)$|^tests/fuzz/corpus/'); do
	[ -f "$file" ] || continue
	seen=$((seen + 1))
	# Not grep -q: head would die of SIGPIPE.
	if ! head -n 3 "$file" | grep 'SPDX-License-Identifier: BSD-3-Clause' >/dev/null; then
		echo "no SPDX line: $file"
		missing=$((missing + 1))
	fi
done
echo "$seen files, $missing without an SPDX line"
[ "$seen" -gt 0 ] && [ "$missing" = 0 ]
