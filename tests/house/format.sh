#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every tracked .c and .h looks as .clang-format says. Versions differ in details, so only that of
# Debian 12 is asked.
#   format.sh SOURCE_ROOT
set -eu
cd "${1:?usage: format.sh SOURCE_ROOT}"
wanted=14

git rev-parse --is-inside-work-tree >/dev/null 2>&1 || {
	echo "no git repository here, so no list of tracked files"
	exit 77
}
for clang_format in clang-format-$wanted clang-format ''; do
	[ -n "$clang_format" ] || {
		echo "no clang-format of version $wanted"
		exit 77
	}
	! "$clang_format" --version 2>/dev/null | grep "version $wanted\." >/dev/null || break
done

# Files that are deleted but not yet committed are still listed.
files=$(git -c core.quotepath=off ls-files '*.c' '*.h' | while read -r file; do
	[ ! -f "$file" ] || echo "$file"
done)
# shellcheck disable=SC2086 # words
"$clang_format" --dry-run -Werror $files || {
	echo "FAIL  'clang-format -i FILE' puts it right"
	exit 1
}
echo "$(echo "$files" | wc -l) files"
