#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Shell scripts parse, and shellcheck (if it is there) finds nothing; the commands of tools/ answer
# --help with 0 and an unknown option with 2, before they install or build anything.
#   scripts.sh SOURCE_ROOT
set -eu
cd "${1:?usage: scripts.sh SOURCE_ROOT}"

failed=0
fail() {
	echo "FAIL  $*"
	failed=$((failed + 1))
}

scripts=$(find tools tests .ci -type f \( -perm -u+x -o -name '*.sh' \) -exec grep -lE '^#!/bin/(ba)?sh' {} +)
for script in $scripts; do
	sh -n "$script" || fail "$script does not parse"
	! command -v shellcheck >/dev/null 2>&1 || shellcheck -x "$script" || fail "$script: shellcheck"
done

for command in tools/deps tools/test tools/demo; do
	[ -x "$command" ] || continue
	"$command" --help | grep "^usage: $command" >/dev/null || fail "$command --help"
	code=0
	"$command" --no-such-option >/dev/null 2>&1 || code=$?
	[ $code = 2 ] || fail "$command --no-such-option exits with $code"
done
echo "$(echo "$scripts" | wc -l) scripts, $failed failed"
[ "$failed" = 0 ]
