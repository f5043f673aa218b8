#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# OMP_THREAD_LIMIT bounds the threads of the whole program, says the manual of GCC's runtime. But what each thread that the
# program started itself has in parallel regions is counted apart: a server with four threads, each of which calls a parallel
# library, has sixteen under a limit of four. LLVM's runtime does the same; it has KMP_DEVICE_THREAD_LIMIT for the process.
# Seen with libgomp 12.2.0-14+deb12u1 and libomp 14.0.6-12.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=findings/packages disable=SC1091
. "$here/packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compilers "$folder" libgomp1=12.2.0-14+deb12u1 libomp5-14=1:14.0.6-12
cat >"$folder/limit.c" <<'C'
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { callers = 4 };
static pthread_barrier_t all_in, counted;

static void *call(void *unused)
{
#pragma omp parallel
	{
#pragma omp master
		pthread_barrier_wait(&all_in);
#pragma omp barrier
#pragma omp master
		pthread_barrier_wait(&counted);
#pragma omp barrier
	}
	return unused;
}

int main(void)
{
	pthread_t all[callers];
	char line[128];
	int threads = 0;
	FILE *file;

	pthread_barrier_init(&all_in, 0, callers + 1);
	pthread_barrier_init(&counted, 0, callers + 1);
	for (int i = 0; i < callers; i++)
		pthread_create(&all[i], 0, call, 0);
	pthread_barrier_wait(&all_in);
	file = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof(line), file))
		sscanf(line, "Threads: %d", &threads);
	fclose(file);
	pthread_barrier_wait(&counted);
	for (int i = 0; i < callers; i++)
		pthread_join(all[i], 0);
	printf("omp_get_thread_limit() %d, %d threads in regions\n", omp_get_thread_limit(), threads - 1);
	return 0;
}
C
build gcc -fopenmp -c "$folder/limit.c" -o "$folder/limit.o"
build gcc "$folder/limit.o" -o "$folder/gcc" "$root/usr/lib/x86_64-linux-gnu/libgomp.so.1"
build gcc "$folder/limit.o" -o "$folder/llvm" "$root/usr/lib/llvm-14/lib/libomp.so.5"
seen() {
	LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu:$root/usr/lib/llvm-14/lib OMP_NUM_THREADS=4 OMP_THREAD_LIMIT=4 "$folder/$1"
}
gcc=$(seen gcc) llvm=$(seen llvm)
echo "four threads in a parallel region each, with OMP_NUM_THREADS=4 OMP_THREAD_LIMIT=4"
echo "expected: 4 threads in regions"
echo "seen: libgomp 12.2.0-14+deb12u1: $gcc"
echo "seen: libomp 14.0.6-12: $llvm"
same="omp_get_thread_limit() 4, 16 threads in regions"
[ "$gcc $llvm" = "$same $same" ] || { echo "that has changed" >&2; exit 1; }
