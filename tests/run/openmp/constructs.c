/* SPDX-License-Identifier: MIT */
/*
 * What OpenMP builds on locks, under more threads than CPUs. Each line says how far a count that only
 * exclusion keeps right is off, so that every right run prints the same.
 *
 * Usage: constructs THREADS TIMES [simple]
 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define INIT(kind, lock, hint) omp_init_##kind##_with_hint(lock, hint)
#else /* libgomp has none of these */
#define INIT(kind, lock, hint) omp_init_##kind(lock)
#endif

static int threads, times;

static void unnamed_sections(void)
{
	long count = 0;

#pragma omp parallel for num_threads(threads)
	for (int i = 0; i < times; i++)
#pragma omp critical
		count++;
	printf("critical: %ld\n", times - count);
}

static void named_sections(void)
{
	long one = 0, two = 0, inner = 0;

#pragma omp parallel for num_threads(threads)
	for (int i = 0; i < times; i++) {
#pragma omp critical(one)
		{
			one++;
#pragma omp critical(inner) hint(omp_sync_hint_contended)
			inner++;
		}
#pragma omp critical(two)
		two++;
	}
	printf("critical(name): %ld %ld %ld\n", times - one, times - two, times - inner);
}

/* Each is made, used and gone while others are: their memory is used again. */
static void short_lived_locks(void)
{
	long wrong = 0;

#pragma omp parallel for num_threads(threads) reduction(+ : wrong)
	for (int i = 0; i < times; i++) {
		omp_lock_t mine;

		INIT(lock, &mine, omp_sync_hint_uncontended);
		omp_set_lock(&mine);
		wrong += omp_test_lock(&mine) != 0;
		omp_unset_lock(&mine);
		omp_destroy_lock(&mine);
	}
	printf("short-lived locks: %ld\n", wrong);
}

/* One for each of many counts, as programs have for nodes of a graph; more than a first page of them. */
static void many_locks(void)
{
	enum { LOCKS = 5000 };
	omp_lock_t *locks = malloc(LOCKS * sizeof(*locks));
	long *counts = calloc(LOCKS, sizeof(*counts)), total = 0;

	for (int i = 0; i < LOCKS; i++)
		omp_init_lock(&locks[i]);
	for (int i = 0; i < LOCKS; i++) { /* a lock may get its memory here */
		omp_set_lock(&locks[i]);
		omp_unset_lock(&locks[i]);
	}
	for (int i = 0; i < LOCKS; i++) /* all at once: no two are the same */
		total -= !omp_test_lock(&locks[i]);
	for (int i = 0; i < LOCKS; i++)
		omp_unset_lock(&locks[i]);
#pragma omp parallel for num_threads(threads)
	for (int i = 0; i < times; i++) {
		int at = (int)((unsigned)i * 2654435761u % LOCKS);

		omp_set_lock(&locks[at]);
		counts[at]++;
		omp_unset_lock(&locks[at]);
	}
	for (int i = 0; i < LOCKS; i++) {
		total += counts[i];
		omp_destroy_lock(&locks[i]);
	}
	printf("many locks: %ld\n", times - total);
	free(counts);
	free(locks);
}

static void nested_locks(void)
{
	omp_nest_lock_t lock;
	long count = 0;

	INIT(nest_lock, &lock, omp_sync_hint_contended);
#pragma omp parallel for num_threads(threads)
	for (int i = 0; i < times; i++) {
		omp_set_nest_lock(&lock);
		if (omp_test_nest_lock(&lock) == 2)
			count++;
		omp_unset_nest_lock(&lock);
		count++;
		omp_unset_nest_lock(&lock);
	}
	omp_destroy_nest_lock(&lock);
	printf("nested locks: %ld\n", 2L * times - count);
}

static void tries(void)
{
	omp_lock_t lock;
	long count = 0;

	omp_init_lock(&lock);
#pragma omp parallel for num_threads(threads)
	for (int i = 0; i < times; i++) {
		while (!omp_test_lock(&lock))
			;
		count++;
		omp_unset_lock(&lock);
	}
	omp_destroy_lock(&lock);
	printf("omp_test_lock: %ld\n", times - count);
}

static void ordered_loop(void)
{
	int last = -1, wrong = 0;

#pragma omp parallel for ordered schedule(dynamic) num_threads(threads)
	for (int i = 0; i < times / 10; i++) {
#pragma omp ordered
		{
			wrong += last != i - 1;
			last = i;
		}
	}
	printf("ordered: %d\n", wrong);
}

/* No instruction adds to a long double: the runtime combines these by its lock, or in a tree. */
static void reductions(void)
{
	long double sum = 0;
	int rounds = times / 100;

	for (int round = 0; round < rounds; round++) {
#pragma omp parallel num_threads(threads) reduction(+ : sum)
		sum += 1;
	}
	printf("reduction: %.0Lf\n", (long double)rounds * threads - sum);
}

static void tasks(void)
{
	omp_lock_t lock;
	long count = 0;

	omp_init_lock(&lock);
#pragma omp parallel num_threads(threads)
#pragma omp single
	for (int i = 0; i < times; i++) {
#pragma omp task shared(count)
		{
			omp_set_lock(&lock);
			count++;
			omp_unset_lock(&lock);
		}
	}
	omp_destroy_lock(&lock);
	printf("tasks: %ld\n", times - count);
}

/* OMP_CANCELLATION=true: the loop may end anywhere, but no thread leaves with a section held. */
static void cancelled_loop(void)
{
	long before = 0, after = 0;

#pragma omp parallel num_threads(threads)
	{
#pragma omp for
		for (int i = 0; i < times; i++) {
#pragma omp critical(cancelled)
			before++;
#pragma omp cancel for if (i == times / 2)
#pragma omp critical(cancelled)
			after++;
#pragma omp cancellation point for
		}
	}
#pragma omp parallel num_threads(threads)
#pragma omp critical(cancelled)
	after++;
	printf("cancel: %d\n", before < 1 || after < threads);
}

static void changing_teams(void)
{
	long count = 0, expected = 0;

	omp_set_max_active_levels(2);
	for (int team = 1; team <= threads; team++) {
		expected += 3L * team * 2;
		omp_set_num_threads(team);
#pragma omp parallel
		for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(2)
#pragma omp critical(teams)
			count++;
		}
	}
	printf("changing teams: %ld\n", expected - count);
}

/* Threads that OpenMP has not made. */
static void *count_up(void *arg)
{
	long *count = arg;

	for (int i = 0; i < times; i++)
#pragma omp critical(strangers)
		++*count;
	return 0;
}

static void strangers(void)
{
	pthread_t thread[4];
	long count = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], 0, count_up, &count);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], 0);
	printf("pthreads: %ld\n", 4L * times - count);
}

int main(int argc, char **argv)
{
	threads = argc > 1 ? atoi(argv[1]) : 8;
	times = argc > 2 ? atoi(argv[2]) : 10000;
	unnamed_sections();
	named_sections();
	short_lived_locks();
	many_locks();
	if (argc < 4) /* `simple`: no nested locks */
		nested_locks();
	tries();
	ordered_loop();
	reductions();
	tasks();
	cancelled_loop();
	changing_teams();
	strangers();
	return 0;
}
