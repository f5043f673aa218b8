/* SPDX-License-Identifier: MIT */
/* measured-openmp THREADS SECONDS: numbers are counted by class in a critical section, as in examples/openmp.c. */
#include "counted.h"
#include <omp.h>
#include <stdlib.h>

enum { CLASSES = 64 };

static unsigned class_of(uint64_t x)
{
	for (int round = 0; round < 9; round++) { /* SplitMix64 */
		x += UINT64_C(0x9e3779b97f4a7c15);
		x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
		x ^= x >> 31;
	}
	return (unsigned)(x % CLASSES);
}

int main(int argc, char **argv)
{
	static uint64_t classes[CLASSES];
	unsigned n = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
	struct counted *all = calloc(n ? n : 1, sizeof(*all));
	uint64_t begun, until, sum = 0;

	if (!n || !all)
		return 2;
	begun = now_ns();
	until = begun + (uint64_t)(atof(argv[2]) * 1e9);
#pragma omp parallel num_threads((int)n)
	{
		unsigned me = (unsigned)omp_get_thread_num();

		for (uint64_t i = me, t = begun; t < until; i += n) {
			unsigned c = class_of(i);
			uint64_t began = now_ns();

#pragma omp critical
			classes[c]++;
			t = now_ns();
			count(&all[me], t - began);
		}
	}
	tell("openmp", all, n, (double)(now_ns() - begun) / 1e9);
	for (unsigned i = 0; i < n; i++)
		sum += all[i].times;
	for (int c = 0; c < CLASSES; c++)
		sum -= classes[c];
	return sum != 0;
}
