#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The manual page of conf files and the examples know the same keys, and weftd and weft-run have the
# options that their pages name.
#   manual.sh SOURCE_ROOT WEFTD WEFT_RUN
set -eu
src=${1:?usage: manual.sh SOURCE_ROOT WEFTD WEFT_RUN}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C

# Keys of the examples, those in comments too; keys of the page are the words of its lists.
sed -n 's/^#\{0,1\}\([a-z_][a-z_]*\) = .*/\1/p' "$src"/conf/*.conf | sort -u >"$scratch/examples"
sed -n 's/^\.It Ic //p' "$src/docs/man/weft.conf.5" | tr -d ' ' | tr ',' '\n' | sort -u >"$scratch/page"

failed=0
for key in $(comm -23 "$scratch/examples" "$scratch/page"); do
	echo "FAIL  weft.conf.5 does not explain $key"
	failed=$((failed + 1))
done
for key in $(comm -13 "$scratch/examples" "$scratch/page"); do
	echo "FAIL  weft.conf.5 explains $key, which no file in conf/ shows"
	failed=$((failed + 1))
done

# options PAGE, and what --help says
for pair in "weftd.8 $2" "weft-run.1 $3"; do
	# shellcheck disable=SC2086 # two words
	set -- $pair
	page=$src/docs/man/$1
	"$2" --help >"$scratch/help"
	named=$(sed -n 's/.*Fl -\([a-z-]*\).*/--\1/p' "$page" | sort -u)
	helped=$(grep -oE -- '--[a-z-]+|WEFT_[A-Z_]+' "$scratch/help" | sort -u)
	for option in $named; do
		grep -q -- "$option" "$scratch/help" || {
			echo "FAIL  $1 names $option, --help does not"
			failed=$((failed + 1))
		}
	done
	for option in $helped; do
		grep -q -- "${option#--}" "$page" || {
			echo "FAIL  --help names $option, $1 does not"
			failed=$((failed + 1))
		}
	done
done
echo "$(wc -l <"$scratch/page") keys, $failed failed"
[ "$failed" = 0 ]
