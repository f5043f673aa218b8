#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sysconf(_SC_NPROCESSORS_CONF) is the number of CPUs that the machine is configured with, so one makes an array of that size for
# what is kept per CPU, and uses sched_getcpu() as the index. With musl the number is that of the caller's CPU mask: a thread
# that is bound to one CPU is told 1, and runs on a CPU with a larger number than any index. glibc counts the machine's.
# Seen with musl 1.2.3-1, glibc 2.36.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
[ "$(nproc)" -gt 1 ] || { echo "needs two CPUs" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder" musl=1.2.3-1 musl-dev=1.2.3-1
cat >"$folder/bound.c" <<'C'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	cpu_set_t mask;
	int last = CPU_SETSIZE - 1;

	sched_getaffinity(0, sizeof(mask), &mask);
	while (!CPU_ISSET(last, &mask))
		last--;
	CPU_ZERO(&mask);
	CPU_SET(last, &mask);
	sched_setaffinity(0, sizeof(mask), &mask);
	printf("%ld configured, runs on number %d\n", sysconf(_SC_NPROCESSORS_CONF), sched_getcpu());
	return 0;
}
C
build gcc "$folder/bound.c" -o "$folder/glibc"
build_musl "$folder/bound.c" "$folder/musl"
glibc=$(unpacked "$folder/glibc") musl=$("$folder/musl")
echo "a thread that has bound itself to the last of its CPUs"
echo "expected: more are configured than the number that it runs on"
echo "seen: with glibc $glibc; with musl 1.2.3-1 $musl"
read -r counted _ _ _ _ number <<<"$musl"
if [ "$counted" != 1 ] || [ "$number" = 0 ] || [ "${glibc%% *}" -le "${glibc##* }" ]; then
	echo "that has changed" >&2
	exit 1
fi
