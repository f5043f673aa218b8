/* SPDX-License-Identifier: MIT */
/* Counts numbers by class in a critical section, as OpenMP programs commonly do: docs/openmp.md. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

enum { CLASSES = 64, NUMBERS = 2000000 };

/* The part that is parallel: some arithmetic (SplitMix64, nine times). */
static unsigned class_of(uint64_t x)
{
	for (int round = 0; round < 9; round++) {
		x += UINT64_C(0x9e3779b97f4a7c15);
		x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
		x ^= x >> 31;
	}
	return (unsigned)(x % CLASSES);
}

int main(void)
{
	static long count[CLASSES];
	double began = omp_get_wtime();
	long sum = 0;

#pragma omp parallel for
	for (long i = 0; i < NUMBERS; i++) {
		unsigned c = class_of((uint64_t)i);

#pragma omp critical
		count[c]++;
	}
	began = omp_get_wtime() - began;
	for (int c = 0; c < CLASSES; c++)
		sum += count[c];
	printf("%ld numbers with %d threads: %.2f s\n", sum, omp_get_max_threads(), began);
	return sum != NUMBERS;
}
