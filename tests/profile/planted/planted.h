/* SPDX-License-Identifier: MIT */
#ifndef PLANTED_H
#define PLANTED_H
/*
 * For programs whose lock trouble is known. Each thread notes when it waited, when it held the lock, and
 * when it was kept from working meanwhile: by gaps between two looks at the clock, or because it says so.
 * From these notes the program prints how its waits split, without anything that the profiler knows.
 *
 * The work is fixed, not the time. A program ends by itself.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 64, MOST_NOTES = 1 << 16, GAP_NS = 30000 };

enum what { WAITED, HELD, KEPT, WHATS }; /* KEPT: from working while it held the lock */

struct span {
	uint64_t from, to;
};

struct notes {
	struct span spans[MOST_NOTES];
	unsigned n;
};

static struct notes notes[WHATS];
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Notes of a thread are its own until it ends. */
static __thread struct span mine[WHATS][MOST_NOTES / 16];
static __thread unsigned n_mine[WHATS];

static inline void note(enum what what, uint64_t from, uint64_t to)
{
	if (n_mine[what] == MOST_NOTES / 16)
		abort();
	mine[what][n_mine[what]++] = (struct span){ from, to };
}

static inline void hand_in_notes(void)
{
	pthread_mutex_lock(&notes_lock);
	for (int w = 0; w < WHATS; w++) {
		if (notes[w].n + n_mine[w] > MOST_NOTES)
			abort();
		memcpy(notes[w].spans + notes[w].n, mine[w], n_mine[w] * sizeof(struct span));
		notes[w].n += n_mine[w];
	}
	pthread_mutex_unlock(&notes_lock);
}

/* Works for so much of its own time, as a thread sees it; gaps are not work. */
static inline void work(uint64_t ns, bool holds)
{
	uint64_t last = now_ns(), done = 0;

	while (done < ns) {
		uint64_t now = now_ns();

		if (now - last < GAP_NS)
			done += now - last;
		else if (holds)
			note(KEPT, last, now);
		last = now;
	}
}

static inline void locks(pthread_mutex_t *lock)
{
	uint64_t from = now_ns();

	pthread_mutex_lock(lock);
	note(WAITED, from, now_ns());
}

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static inline void be_of_priority(int policy, int priority)
{
	const struct sched_param p = { .sched_priority = priority };

	if (sched_setscheduler(0, policy, &p)) {
		fprintf(stderr, "planted: real-time threads are refused\n");
		exit(77);
	}
}

/* Before threads begin. Other programs on the machine are no part of what is planted. */
static inline void be_alone(void)
{
	be_of_priority(SCHED_FIFO, 1);
}

/* The same, but threads take turns on a CPU, of some 100 ms. */
static inline void be_alone_in_turns(void)
{
	be_of_priority(SCHED_RR, 1);
}

/* Takes the CPU from the others. */
static inline void be_real_time(void)
{
	be_of_priority(SCHED_FIFO, 10);
}

static inline uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Turns of count_up() in a second of CPU time: processors differ sevenfold. */
static double turns_per_second;

static inline void count_up(uint64_t times)
{
	for (volatile uint64_t k = 0; k < times; k = k + 1)
		;
}

/* The fastest of some runs: others may have had the CPU, or its caches, in between. */
static inline void calibrate(void)
{
	enum { RUNS = 8, TURNS = 1 << 20 };

	for (int run = 0; run < RUNS; run++) {
		uint64_t began = own_cpu_ns();
		double found;

		count_up(TURNS);
		found = TURNS * 1e9 / (double)(own_cpu_ns() - began);
		turns_per_second = found > turns_per_second ? found : turns_per_second;
	}
}

/* CPU time, without a system call: the kernel takes the CPU away at one that reads a thread's own clock. */
static inline void spend(uint64_t ns)
{
	count_up((uint64_t)((double)ns * turns_per_second / 1e9));
}

static inline void rest(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

/* Takes that CPU from the others, 6 ms of every 8, until it is over. */
static inline void intrude(int cpu, const volatile bool *over)
{
	be_real_time();
	pin(cpu);
	pthread_setname_np(pthread_self(), "intruder");
	while (!*over) {
		rest(2000000);
		work(6000000, false);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Of all waits together, what overlaps these spans, which do not overlap each other. */
static inline uint64_t overlap(enum what what)
{
	const struct notes *of = &notes[what];
	uint64_t all = 0;

	for (unsigned i = 0; i < notes[WAITED].n; i++) {
		const struct span w = notes[WAITED].spans[i];

		for (unsigned j = 0; j < of->n && of->spans[j].from < w.to; j++) {
			uint64_t from = of->spans[j].from > w.from ? of->spans[j].from : w.from;
			uint64_t to = of->spans[j].to < w.to ? of->spans[j].to : w.to;

			all += to > from ? to - from : 0;
		}
	}
	return all;
}

/* `kept`: of what the holder was kept by; `lock`: the one that suffers, or null. */
static inline void tell(const char *kept, const void *lock)
{
	uint64_t waited = 0, held, off;

	for (int w = 0; w < WHATS; w++)
		qsort(notes[w].spans, notes[w].n, sizeof(struct span), by_start);
	for (unsigned i = 0; i < notes[WAITED].n; i++)
		waited += notes[WAITED].spans[i].to - notes[WAITED].spans[i].from;
	held = overlap(HELD);
	off = overlap(KEPT);
	printf("{\"address\": %llu, \"wait_ns\": %llu, \"kept_by\": \"%s\", \"kept_ns\": %llu, "
	       "\"worked_ns\": %llu, \"free_ns\": %llu}\n",
	       (unsigned long long)(uintptr_t)lock, (unsigned long long)waited, kept,
	       (unsigned long long)off, (unsigned long long)(held - off),
	       (unsigned long long)(waited - held));
}

/* Threads, each with its number. */
typedef void (*body)(int number);

static body bodies[MOST_THREADS];
static pthread_barrier_t all_are_there;

/* None begins before all are there: a thread may be done in less time than it takes to create the next. */
static void *run_body(void *number)
{
	pthread_barrier_wait(&all_are_there);
	bodies[(intptr_t)number]((int)(intptr_t)number);
	hand_in_notes();
	return NULL;
}

static inline void run_threads(int n)
{
	pthread_t threads[MOST_THREADS];

	if (pthread_barrier_init(&all_are_there, NULL, (unsigned)n))
		abort();
	for (intptr_t i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run_body, (void *)i))
			abort();
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}
#endif
