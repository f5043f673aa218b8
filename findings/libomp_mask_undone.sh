#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thread inherits the CPU mask of the one that creates it. So a program that narrows its mask before its first parallel
# region has all threads of the region within the mask. But LLVM's OpenMP runtime remembers the mask of the time when it was
# first asked for something, and gives that one to each thread that it creates: they leave the narrower one, though nothing
# about binding was set. GCC's runtime does as expected.
# Seen with libgomp 12.2.0-14+deb12u1 and libomp 14.0.6-12.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
[ "$(nproc)" -gt 1 ] || { echo "needs two CPUs" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder" libgomp1=12.2.0-14+deb12u1 libomp5-14=1:14.0.6-12
cat >"$folder/narrow.c" <<'C'
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

int main(void)
{
	int outside = 0, cpu;
	cpu_set_t one;

	omp_get_max_threads();
	cpu = sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
#pragma omp parallel num_threads(4) reduction(+ : outside)
	{
		cpu_set_t mine;

		sched_getaffinity(0, sizeof(mine), &mine);
		outside += !CPU_EQUAL(&mine, &one);
	}
	printf("%d\n", outside);
	return 0;
}
C
build gcc -fopenmp -c "$folder/narrow.c" -o "$folder/narrow.o"
build gcc "$folder/narrow.o" -o "$folder/gcc" "$root/usr/lib/x86_64-linux-gnu/libgomp.so.1"
build gcc "$folder/narrow.o" -o "$folder/llvm" "$root/usr/lib/llvm-14/lib/libomp.so.5"
seen() {
	env -u OMP_PROC_BIND -u OMP_PLACES -u KMP_AFFINITY -u GOMP_CPU_AFFINITY \
		LD_LIBRARY_PATH="$root/usr/lib/x86_64-linux-gnu:$root/usr/lib/llvm-14/lib" "$folder/$1"
}
gcc=$(seen gcc) llvm=$(seen llvm)
echo "threads of a region of four whose mask is wider than that of the thread that starts it"
echo "expected: 0"
echo "seen: $gcc with libgomp 12.2.0-14+deb12u1, $llvm with libomp 14.0.6-12"
[ "$gcc $llvm" = "0 3" ] || { echo "that has changed" >&2; exit 1; }
