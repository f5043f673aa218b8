#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# menu.sh INCLUDE: writes the header that has every lock of INCLUDE/overlock/locks.def that fits 4
# bytes. CC names the compiler, whose preprocessor reads the list, so a line of it may be laid out
# in any way.
set -eu
include=${1:?usage: menu.sh INCLUDE}

list='#define OL_LOCK(id, gives_up, traits, ...) id: traits
#include <overlock/locks.def>'
# CC may be two words.
# shellcheck disable=SC2086
text=$(printf '%s\n' "$list" | ${CC:-cc} -E -P -x c -I"$include" -)
locks=$(printf '%s\n' "$text" | sed -n 's/^\([a-z0-9_]*\):.*\bOL_FITS4\b.*/\1/p')

echo '/* Made by menu.sh from locks.def. */'
for lock in $locks; do
	echo "#include <overlock/lock/$lock.h>"
done
printf '#define OVERLOCK_EACH(LOCK) %s\n' "\\"
for lock in $locks; do
	printf '\tLOCK(%s) %s\n' "$lock" "\\"
done
echo '	/* the end */'
