#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# OpenMP's runtimes keep the threads of a parallel region for the next one: thread pools. One expects a program whose
# regions do not grow to create its threads once. GCC's runtime ends those that a smaller region has no use for, and
# the next larger one creates them again; and it never keeps those of a region within a region. So a program whose
# regions alternate in size, or are nested, creates threads all the time. LLVM's runtime keeps them.
# Seen with libgomp 12.2.0-14+deb12u1 and libomp 14.0.6-12.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder" libgomp1=12.2.0-14+deb12u1 libomp5-14=1:14.0.6-12
cat >"$folder/regions.c" <<'C'
#include <omp.h>

static int sum;

int main(int n, char **words)
{
	omp_set_max_active_levels(2);
	for (int i = 0; i < 100; i++)
		switch (n > 1 ? words[1][0] : 0) {
		case 's': /* all of the same size */
#pragma omp parallel num_threads(4) reduction(+ : sum)
			sum++;
			break;
		case 'a': /* alternate */
#pragma omp parallel num_threads(i % 2 ? 2 : 4) reduction(+ : sum)
			sum++;
			break;
		case 'n': /* nested */
#pragma omp parallel num_threads(2) reduction(+ : sum)
#pragma omp parallel num_threads(2) reduction(+ : sum)
			sum++;
		}
	return 0;
}
C
build gcc -fopenmp -c "$folder/regions.c" -o "$folder/regions.o"
build gcc "$folder/regions.o" -o "$folder/gcc" "$root/usr/lib/x86_64-linux-gnu/libgomp.so.1"
build gcc "$folder/regions.o" -o "$folder/llvm" "$root/usr/lib/llvm-14/lib/libomp.so.5"
seen() {
	for regions in same alternate nested; do
		printf ' %d' "$(calls clone3 env LD_LIBRARY_PATH="$root/usr/lib/x86_64-linux-gnu:$root/usr/lib/llvm-14/lib" \
			"$folder/$1" "$regions")"
	done
}
gcc=$(seen gcc) llvm=$(seen llvm)
echo "100 regions of 4 threads; of 4 and 2 threads in turn; of 2 threads with 2 threads each: threads created"
echo "expected: 3 3 3"
echo "seen: libgomp 12.2.0-14+deb12u1:$gcc"
echo "seen: libomp 14.0.6-12:$llvm"
read -r same alternate nested <<<"$gcc"
if ! { [ "$same" = 3 ] && [ "$alternate" -ge 100 ] && [ "$nested" -ge 100 ] && [ "$llvm" = " 3 3 3" ]; }; then
	echo "that has changed" >&2
	exit 1
fi
