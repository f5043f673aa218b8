/* SPDX-License-Identifier: MIT */
/*
 * Two locks, each taken in a function of its own by two threads, who rest in it. It tells how long each pair
 * waited. Small, so that it builds for any C library: -DSEMAPHORE takes a semaphore for a lock.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 50 };

#ifdef SEMAPHORE
typedef sem_t lock_t;
#define begin(lock)   sem_init(lock, 0, 1)
#define take(lock)    sem_wait(lock)
#define release(lock) sem_post(lock)
#else
typedef pthread_mutex_t lock_t;
#define begin(lock)   pthread_mutex_init(lock, NULL)
#define take(lock)    pthread_mutex_lock(lock)
#define release(lock) pthread_mutex_unlock(lock)
#endif

static lock_t *first, *second; /* on the heap: they have no names */
static uint64_t waited[4];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void rest(long ns)
{
	nanosleep(&(struct timespec){ 0, ns }, NULL);
}

__attribute__((noinline)) static uint64_t first_section(void)
{
	uint64_t before = now_ns(), after;

	take(first);
	after = now_ns();
	rest(2000000);
	release(first);
	return after - before;
}

__attribute__((noinline)) static uint64_t second_section(void)
{
	uint64_t before = now_ns(), after;

	take(second);
	after = now_ns();
	rest(4000000);
	release(second);
	return after - before;
}

static void *worker(void *number)
{
	uintptr_t me = (uintptr_t)number;

	for (int i = 0; i < ROUNDS; i++) {
		waited[me] += me < 2 ? first_section() : second_section();
		rest(1000000); /* the other one gets it meanwhile */
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	first = malloc(sizeof(*first));
	second = malloc(sizeof(*second));
	begin(first);
	begin(second);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("{\"first_section\": %llu, \"second_section\": %llu}\n",
	       (unsigned long long)(waited[0] + waited[1]),
	       (unsigned long long)(waited[2] + waited[3]));
	return 0;
}
