/* SPDX-License-Identifier: MIT */
/*
 * soak ROUNDS SAMPLES: threads, mutexes, condition variables and forked children come and go. After each
 * of so many parts it prints, with no thread left but itself,
 *
 *	operations, anonymous memory and address space in bytes, mappings, descriptors
 *
 * It allocates nothing itself after its start. SIGINT and SIGTERM end it after the round.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The mutexes of a round take the next places, so that memory becomes a mutex again and again. */
enum { THREADS = 4, MUTEXES = 64, PLACES = 64 * MUTEXES, STEPS = 200, FORK_EVERY = 16 };

static struct place {
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	long count;
} places[PLACES], *current;
static pthread_spinlock_t spinlock;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long operations, shared_count;
static volatile sig_atomic_t ends;

static void end(int unused)
{
	(void)unused;
	ends = 1;
}

static void check(int wrong, const char *what)
{
	if (!wrong)
		return;
	fprintf(stderr, "soak: %s\n", what);
	_exit(1);
}

static void in_child(void)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		for (int m = 1; m < MUTEXES; m++) /* some are held by threads that are not here */
			if (!pthread_mutex_trylock(&current[m].mutex))
				pthread_mutex_unlock(&current[m].mutex);
		_exit(0);
	}
	check(child < 0 || waitpid(child, &status, 0) != child || status, "a child failed");
}

/* Notifies the others, or waits for them, not for long. */
static void wait_or_signal(struct place *p, unsigned way)
{
	struct timespec until;

	if (way % 8) {
		pthread_cond_broadcast(&p->moved);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 20000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&p->moved, &p->mutex, &until);
}

static void *work(void *me)
{
	unsigned random = (unsigned)(long)me * 7919 + 1;

	for (int step = 0; step < STEPS; step++) {
		struct place *p;

		random = random * 1103515245 + 12345;
		p = &current[(random >> 16) % MUTEXES];
		pthread_mutex_lock(&p->mutex);
		p->count++;
		if (step % 16 == 0)
			wait_or_signal(p, random >> 24);
		pthread_mutex_unlock(&p->mutex);
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		pthread_spin_lock(&spinlock);
		shared_count++;
		pthread_spin_unlock(&spinlock);
	}
	return 0;
}

static void one_round(long round)
{
	pthread_t threads[THREADS];
	long sum = 0;

	current = &places[round * MUTEXES % PLACES];
	memset(current, 0, MUTEXES * sizeof(*current));
	for (int m = 0; m < MUTEXES; m += 2) { /* the others are as good without */
		pthread_mutex_init(&current[m].mutex, 0);
		pthread_cond_init(&current[m].moved, 0);
	}
	for (long t = 0; t < THREADS; t++)
		check(pthread_create(&threads[t], 0, work, (void *)(t + round * THREADS)),
		      "no thread");
	if (round % FORK_EVERY == 0)
		in_child();
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], 0);
	for (int m = 0; m < MUTEXES; m++)
		sum += current[m].count;
	check(sum != THREADS * STEPS, "a count was lost");
	for (int m = 0; m < MUTEXES; m += 4) { /* few programs destroy all */
		check(pthread_mutex_destroy(&current[m].mutex), "a free mutex is not destroyed");
		pthread_cond_destroy(&current[m].moved);
	}
	operations += THREADS * STEPS;
}

static long lines_of(const char *path)
{
	FILE *file = fopen(path, "re");
	long lines = 0;

	for (int c; file && (c = getc(file)) != EOF;)
		lines += c == '\n';
	check(!file || fclose(file), path);
	return lines;
}

static long entries_of(const char *path)
{
	DIR *folder = opendir(path);
	long entries = 0;

	while (folder && readdir(folder))
		entries++;
	check(!folder || closedir(folder), path);
	return entries;
}

static void sample(void)
{
	long size, resident, shared, page = sysconf(_SC_PAGESIZE);
	FILE *file = fopen("/proc/self/statm", "re");

	check(!file || fscanf(file, "%ld %ld %ld", &size, &resident, &shared) != 3, "statm");
	fclose(file);
	printf("%ld %ld %ld %ld %ld\n", operations, (resident - shared) * page, size * page,
	       lines_of("/proc/self/maps"), entries_of("/proc/self/fd"));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long rounds = argc == 3 ? atol(argv[1]) : 0, samples = argc == 3 ? atol(argv[2]) : 0;

	if (rounds < 1 || samples < 1)
		return 2;
	signal(SIGINT, end);
	signal(SIGTERM, end);
	pthread_spin_init(&spinlock, 0);
	for (long round = 0, part = 1; round < rounds && !ends; round++) {
		one_round(round);
		if (round + 1 == part * rounds / samples) {
			sample();
			part++;
		}
	}
	check(shared_count != operations, "a count under the spinlock was lost");
	return 0;
}
