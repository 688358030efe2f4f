#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The layers are what the build allows: with the flags of a folder, a header of its own layer or of
# one below it is found, and a header of a layer above it is not. One probe per row.
#   layers.sh SOURCE_ROOT BUILD_ROOT
set -eu
src=${1:?usage: layers.sh SOURCE_ROOT BUILD_ROOT}
build=${2:?usage: layers.sh SOURCE_ROOT BUILD_ROOT}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# flags FOLDER: the compile command of one of its files, without its input and outputs; empty if the
# folder has no .c file.
ninja -C "$build" -t compdb c_COMPILER >"$scratch/compdb"
flags() {
	python3 - "$scratch/compdb" "$src" "$build" "$1" <<-'PY'
		import json, os, shlex, sys

		compdb, src, build, folder = sys.argv[1:]
		for entry in json.load(open(compdb)):
		    path = os.path.realpath(os.path.join(entry['directory'], entry['file']))
		    if os.path.dirname(path) != os.path.realpath(os.path.join(src, folder)):
		        continue
		    words, keep = shlex.split(entry['command']), []
		    while words:
		        word = words.pop(0)
		        if word in ('-o', '-MF', '-MQ'):
		            words.pop(0)
		        elif word not in ('-c', '-MD', entry['file']):
		            keep.append(word)
		    print(' '.join(shlex.quote(word) for word in keep))
		    break
	PY
}

# compiles FLAGS HEADER
compiles() {
	printf '#include "%s"\nextern int probe;\n' "$2" >"$scratch/probe.c"
	(cd "$build" && eval "$1 -fsyntax-only -Wno-error \"$scratch/probe.c\"") >"$scratch/log" 2>&1
}

failed=0
probes=0
while read -r folder below above; do
	command=$(flags "$folder")
	if [ -z "$command" ]; then
		echo "no .c file in $folder yet"
		continue
	fi
	for header in $below $above; do
		# A header that was renamed would make its probe pass or fail for no reason.
		case $header in rte_*) continue ;; esac
		[ -n "$(find "$src/lib" -name "$header")" ] || {
			echo "FAIL  $folder: there is no header $header in lib/"
			failed=$((failed + 1))
		}
	done
	probes=$((probes + 1))
	compiles "$command" "$below" || {
		echo "FAIL  $folder does not see $below:"
		cat "$scratch/log"
		failed=$((failed + 1))
	}
	for header in $above; do
		probes=$((probes + 1))
		if compiles "$command" "$header"; then
			echo "FAIL  $folder sees $header"
			failed=$((failed + 1))
		elif ! grep "$header: No such file" "$scratch/log" >/dev/null; then
			echo "FAIL  $folder and $header: not refused for being out of sight:"
			cat "$scratch/log"
			failed=$((failed + 1))
		fi
	done
done <<'ROWS'
lib/base     psn.h     reliability.h wire.h rte_mbuf.h
lib/engine   psn.h     wire.h rte_mbuf.h
lib/wire     psn.h     abi.h port.h rte_mbuf.h
lib/shm      abi.h     wire.h reliability.h rte_mbuf.h
lib/client   abi.h     wire.h reliability.h rte_mbuf.h
lib/verbs    abi.h     wire.h reliability.h rte_mbuf.h
lib/qp       wire.h    port.h rte_mbuf.h
lib/nic      wire.h    qp.h port.h rte_mbuf.h
lib/port     wire.h    qp.h node.h
lib/fabric   wire.h    port.h qp.h rte_mbuf.h
lib/conf     switch.h  port.h qp.h node.h rte_mbuf.h
lib/stack    qp.h      port.h node.h rte_mbuf.h
lib/sim      plan.h    conf_reader.h rte_mbuf.h
reliability  psn.h     wire.h abi.h port.h rte_mbuf.h
cc           psn.h     wire.h abi.h port.h rte_mbuf.h
lb           psn.h     wire.h abi.h port.h rte_mbuf.h
ROWS
echo "$probes probes, $failed failed"
[ "$probes" -gt 0 ] || exit 77
[ "$failed" = 0 ]
