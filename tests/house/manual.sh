#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The manual pages say what the code has: keys with ranges and defaults, engines, counters, options;
# and the examples show every key.
#   manual.sh SOURCE_ROOT TABLES PAGE PROGRAM...
set -eu
src=${1:?usage: manual.sh SOURCE_ROOT TABLES PAGE PROGRAM...}
conf_page=$src/docs/man/weft.conf.5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C

# Keys of the examples, those in comments too; keys of the page are the words of its lists.
sed -n 's/^#\{0,1\}\([a-z_][a-z_]*\) = .*/\1/p' "$src"/conf/*.conf "$src"/conf/*/*.conf | sort -u >"$scratch/examples"
sed -n 's/^\.It Ic //p' "$conf_page" | tr -d ' ' | tr ',' '\n' | sort -u >"$scratch/page"

failed=0
# same LIST SOURCE: the page explains the keys of this list, which come from there, and no others
same() {
	for key in $(comm -23 "$1" "$scratch/page"); do
		echo "FAIL  weft.conf.5 does not explain $key, which $2 has"
		failed=$((failed + 1))
	done
	for key in $(comm -13 "$1" "$scratch/page"); do
		echo "FAIL  weft.conf.5 explains $key, which $2 has not"
		failed=$((failed + 1))
	done
}
same "$scratch/examples" conf/

# What tests/house/tables.c prints; see there.
"$2" >"$scratch/tables"
sed -n 's/^key	[a-z]*	\([a-z_]*\)	.*/\1/p' "$scratch/tables" | sort -u >"$scratch/code"
same "$scratch/code" "the code"
sed -n 's/^engine	//p' "$scratch/tables" >"$scratch/engines"
while read -r engine; do
	grep -q "^\.It Bq engine $engine\$" "$conf_page" || {
		echo "FAIL  weft.conf.5 does not name [engine $engine]"
		failed=$((failed + 1))
	}
done <"$scratch/engines"

# Each section's lines of a key: its range and default stand there as the code would print them.
awk -F '	' '
	FNR == NR && $1 == "key" && $4 != "-" { want[$2, $3] = $4 " to " $5; def[$2, $3] = $6; next }
	FNR == NR { next }
	/^\.Ss \[/ { section = substr($0, 6); sub(/[] ].*/, "", section) }
	/^\.It Bq engine/ { section = "engine" }
	/^\.(It|El|Ss|Sh)/ { nb = 0 }
	/^\.It Ic/ { nb = split(substr($0, 8), keys, / , /); next }
	{ for (i = 1; i <= nb; i++) text[section, keys[i]] = text[section, keys[i]] " " $0 }
	END {
		for (k in want) {
			split(k, name, SUBSEP)
			if (!index(text[k] " ", " " want[k]))
				print name[1], name[2] ": no \"" want[k] "\""
			if (!match(text[k], "[Dd]efault: " def[k] "[.,]"))
				print name[1], name[2] ": no \"default: " def[k] "\""
		}
	}' "$scratch/tables" "$conf_page" | sort >"$scratch/wrong"
while read -r line; do
	echo "FAIL  weft.conf.5, $line"
	failed=$((failed + 1))
done <"$scratch/wrong"

# Counters.
sed -n 's/^counter	//p' "$scratch/tables" | sort -u >"$scratch/counters"
sed -n 's/^\.It Cm //p' "$src/docs/man/weftd.8" | sed 's/ , /\n/g' | sort -u >"$scratch/counted"
for name in $(comm -23 "$scratch/counters" "$scratch/counted"); do
	echo "FAIL  weftd.8 does not explain the counter $name"
	failed=$((failed + 1))
done
for name in $(comm -13 "$scratch/counters" "$scratch/counted"); do
	echo "FAIL  weftd.8 explains the counter $name, which the code does not have"
	failed=$((failed + 1))
done

# Options: those of the page and those that --help tells of.
shift 2
while [ $# -ge 2 ]; do
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
	shift 2
done
echo "$(wc -l <"$scratch/page") keys, $(wc -l <"$scratch/counters") counters, $failed failed"
[ "$failed" = 0 ]
