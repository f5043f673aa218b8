/* SPDX-License-Identifier: MIT */
/*
 * Many threads enter new critical sections at the same time. Prints the number of sections that did not
 * exclude them. Usage: first_use THREADS SECTIONS
 */
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TOGETHER 8 /* the threads meet before every so many sections */

/* As compilers call them. */
typedef int32_t section_t[8];
int32_t __kmpc_global_thread_num(void *at);
void __kmpc_critical(void *at, int32_t thread, void *section);
void __kmpc_end_critical(void *at, int32_t thread, void *section);

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 8, n = argc > 2 ? atoi(argv[2]) : 1000;
	section_t *sections = calloc((size_t)n, sizeof(*sections));
	long *counts = calloc((size_t)n, sizeof(*counts)), wrong = 0;
	pthread_barrier_t together; /* libomp's own lets its threads go one by one */

	pthread_barrier_init(&together, 0, (unsigned)threads);
#pragma omp parallel num_threads(threads)
	for (int i = 0; i < n; i++) {
		int32_t me = __kmpc_global_thread_num(0);
		long seen;

		if (!(i % TOGETHER))
			pthread_barrier_wait(&together);
		__kmpc_critical(0, me, sections[i]);
		seen = __atomic_load_n(&counts[i], __ATOMIC_RELAXED);
		if (!(i % TOGETHER))
			usleep(100); /* so that whoever is not excluded comes in meanwhile */
		__atomic_store_n(&counts[i], seen + 1, __ATOMIC_RELAXED);
		__kmpc_end_critical(0, me, sections[i]);
	}
	for (int i = 0; i < n; i++)
		wrong += counts[i] != threads;
	printf("%ld\n", wrong);
	return 0;
}
