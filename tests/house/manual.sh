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

# What tests/house/tables.c prints; see there.
"$2" >"$scratch/tables"

failed=0
# same PAGE LIST SOURCE: the page explains the keys of this list, which come from there, and no others
same() {
	for key in $(comm -23 "$2" "$scratch/page"); do
		echo "FAIL  $1 does not explain $key, which $3 has"
		failed=$((failed + 1))
	done
	for key in $(comm -13 "$2" "$scratch/page"); do
		echo "FAIL  $1 explains $key, which $3 has not"
		failed=$((failed + 1))
	done
}
# keys ROW PAGE EXAMPLE...: of a page, the tables' rows and the examples. Keys of examples are those in
# comments too; keys of the page are the words of its lists.
keys() {
	row=$1 page=$2
	shift 2
	sed -n 's/^#\{0,1\}\([a-z_][a-z_0-9]*\) = .*/\1/p' "$@" | sort -u >"$scratch/examples"
	sed -n 's/^\.It Ic //p' "$src/docs/man/$page" | tr -d ' ' | tr ',' '\n' | sort -u >"$scratch/page"
	sed -n "s/^$row\t[a-z]*\t\([a-z_0-9]*\)\t.*/\1/p" "$scratch/tables" | sort -u >"$scratch/code"
	same "$page" "$scratch/code" "the code"
}
# ranges ROW PAGE: each section's lines of a key: its range and default stand there as the code would print them
ranges() {
	awk -F '	' -v row="$1" '
	FNR == NR && $1 == row && $4 != "-" { want[$2, $3] = $4 " to " $5; def[$2, $3] = $6; next }
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
	}' "$scratch/tables" "$src/docs/man/$2" | sort >"$scratch/wrong"
	while read -r line; do
		echo "FAIL  $2, $line"
		failed=$((failed + 1))
	done <"$scratch/wrong"
}

# Faults are shown by daemon.conf, and every other key of scenarios by conf/lab.
keys lab weft-scenario.5 "$src"/conf/lab/*.scenario
ranges lab weft-scenario.5
grep -v '^fault_' "$scratch/code" >"$scratch/shown"
for key in $(comm -23 "$scratch/shown" "$scratch/examples"); do
	echo "FAIL  conf/lab/*.scenario do not show $key"
	failed=$((failed + 1))
done
keys key weft.conf.5 "$src"/conf/*.conf "$src"/conf/*/*.conf
same weft.conf.5 "$scratch/examples" conf/
ranges key weft.conf.5
sed -n 's/^engine	//p' "$scratch/tables" >"$scratch/engines"
while read -r engine; do
	grep -q "^\.It Bq engine $engine\$" "$conf_page" || {
		echo "FAIL  weft.conf.5 does not name [engine $engine]"
		failed=$((failed + 1))
	}
done <"$scratch/engines"

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
