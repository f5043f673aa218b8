#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A process may map a file twice, as JavaScript engines do with their own code. One expects that tools which name code by
# process id name that of both mappings: each is far from the other, and has the file's name in /proc/PID/maps. libdw of
# elfutils takes mappings of one file for one object as long as no other file's comes between them in that list; what
# is anonymous does not count. So the second mapping has names only if another file happens to lie between.
# Seen with elfutils 0.188-2.1 and Linux 6.18.44.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
process=
trap '[ -z "$process" ] || kill "$process"; rm -rf "$folder"' EXIT
packages "$folder" elfutils=0.188-2.1 libdw1=0.188-2.1 libelf1=0.188-2.1 libasm1=0.188-2.1 libstdc++6 libgcc-s1
echo "Linux $(uname -r)"
unpacked "$root/usr/bin/eu-addr2line" --version | sed -n 1p
code=$(realpath "$root/usr/lib/x86_64-linux-gnu/libelf.so.1")
value=$(unpacked "$root/usr/bin/eu-readelf" -s "$code" | awk '$8 ~ /^elf_version@/ && !n++ { print $2 }')

# named private|shared: maps the code, 64 MB of such memory, then the code again, and sets $names to the names of a
# function in both. To the kernel shared memory is a file, /dev/zero.
named() {
	python3 -c "
import mmap, sys, time
code, kind = open(sys.argv[1], 'rb'), sys.argv[2]
flags = mmap.MAP_ANONYMOUS | (mmap.MAP_SHARED if kind == 'shared' else mmap.MAP_PRIVATE)
first = mmap.mmap(code.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC)
between = mmap.mmap(-1, 64 << 20, flags=flags)
second = mmap.mmap(code.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC)
open(sys.argv[3], 'w').close()
time.sleep(100)" "$code" "$1" "$folder/mapped" &
	process=$!
	until [ -e "$folder/mapped" ]; do sleep 0.1; done
	rm "$folder/mapped"
	names=
	while read -r range _; do
		names+="$(unpacked "$root/usr/bin/eu-addr2line" -S --pid "$process" \
			"$(printf '0x%x' $((0x${range%-*} + 0x$value)))" | sed -n '1{s/@.*//; p}') "
	done < <(grep -F "$code" "/proc/$process/maps")
	kill "$process"
	wait "$process" 2>/dev/null || true
	process=
}

named shared
shared=$names
named private
private=$names
echo "expected: elf_version elf_version"
echo "seen, with shared memory between the two: $shared"
echo "seen, with private memory between them: $private"
if ! { [ "$shared" = "elf_version elf_version " ] && [[ $private == "elf_version "* && $private != "$shared" ]]; }; then
	echo "that has changed" >&2
	exit 1
fi
