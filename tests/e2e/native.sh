#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A program without verbs: built by pkg-config against an install into a staging folder.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_needs cc pkg-config meson

e2e_start

stage=$e2e_dir/stage
DESTDIR=$stage meson install -C "$WEFT_BUILD" --no-rebuild --quiet >"$e2e_dir/client" 2>&1
verdict $? "meson install into a staging folder"
pc=$(find "$stage" -name weft.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR="$stage"
# shellcheck disable=SC2046 # words are meant
cc -std=c17 -Wall -Wextra -Wpedantic -Werror -o "$e2e_dir/example" "$WEFT_EXAMPLE" \
	$(pkg-config --cflags --libs weft) >"$e2e_dir/client" 2>&1
verdict $? "the example compiles with pkg-config weft alone, without a warning"
libdir=$(dirname "$(dirname "$pc")")

LD_LIBRARY_PATH=$libdir LD_PRELOAD=${WEFT_E2E_PRELOAD-} ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" \
	timeout 30 "$e2e_dir/example" $dev0 $dev1 >"$e2e_dir/client" 2>&1
verdict $? "it moves a megabyte from $dev0 to $dev1" "$(tail -n 1 "$e2e_dir/client")"

# The launcher that was installed finds the shim that was installed.
installed=$(find "$stage" -name weft-run -type f)
(
	foreign_environment
	exec "$installed" ibv_devices
) >"$e2e_dir/client" 2>&1 && grep -q $dev1 "$e2e_dir/client"
verdict $? "the installed weft-run works"

e2e_end
