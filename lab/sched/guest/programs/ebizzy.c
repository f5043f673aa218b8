/* SPDX-License-Identifier: MIT */
/*
 * measured-ebizzy THREADS SECONDS [LOCK[@TUNABLE=VALUE]...]: ebizzy's loop with a lock of the program's. Each thread
 * copies one of many chunks of sorted records, page by page, looks a record up in the copy, and gives its pages
 * back. The pages come from a pool behind a mutex, or behind that lock of liboverlock's, as the original's come from
 * the kernel at each page fault. Counts records.
 */
#include "counted.h"
#include <overlock/ops.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNKS = 10,
	PAGES = 16,
	IN_PAGE = 4096 / sizeof(uint64_t),
	RECORDS = PAGES * IN_PAGE,
	STEP = 7
};

struct page {
	union {
		struct page *next; /* free */
		uint64_t records[IN_PAGE];
	};
};

static uint64_t chunks[CHUNKS][RECORDS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const struct ol_lock_ops *ours; /* null: the mutex */
static void *lock;
static struct page *pool;
static uint64_t until;

struct worker {
	pthread_t thread;
	struct counted *counted;
	uint64_t state;
};

static void acquire(void)
{
	if (ours)
		ours->lock(lock);
	else
		pthread_mutex_lock(&mutex);
}

static void release(void)
{
	if (ours)
		ours->unlock(lock);
	else
		pthread_mutex_unlock(&mutex);
}

static struct page *take(void)
{
	struct page *p;

	acquire();
	p = pool;
	pool = p->next;
	release();
	return p;
}

static void give(struct page *p)
{
	acquire();
	p->next = pool;
	pool = p;
	release();
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static size_t place_of(struct page *const *pages, uint64_t key)
{
	size_t low = 0, high = RECORDS;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (pages[middle / IN_PAGE]->records[middle % IN_PAGE] <= key)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void look_up(uint64_t *state)
{
	size_t chunk = next(state) % CHUNKS, wanted = next(state) % RECORDS;
	struct page *copy[PAGES];

	for (size_t i = 0; i < PAGES; i++) {
		copy[i] = take();
		memcpy(copy[i], &chunks[chunk][i * IN_PAGE], sizeof(struct page));
	}
	if (place_of(copy, chunk + wanted * STEP) != wanted)
		abort();
	for (size_t i = 0; i < PAGES; i++)
		give(copy[i]);
}

static void *work(void *argument)
{
	struct worker *me = argument;
	uint64_t began, t;

	for (began = now_ns(); began < until; began = t) {
		look_up(&me->state);
		t = now_ns();
		count(me->counted, t - began);
	}
	return NULL;
}

/* Its tunables are set, and it is free. */
static bool choose(char *words)
{
	const char *name = strsep(&words, "@");
	char *set;

	while ((set = strsep(&words, "@"))) {
		const char *tunable = strsep(&set, "=");

		if (!set || ol_set_tunable(tunable, set))
			return false;
	}
	ours = ol_find_lock(name);
	lock = ours ? aligned_alloc(128, (ours->size + 127u) / 128 * 128) : NULL;
	if (lock)
		memset(lock, 0, ours->size);
	return lock;
}

int main(int argc, char **argv)
{
	unsigned n = argc >= 3 ? (unsigned)atoi(argv[1]) : 0;
	struct worker *workers = calloc(n, sizeof(*workers));
	struct counted *all = calloc(n, sizeof(*all));
	struct page *pages = calloc((size_t)n * PAGES, sizeof(*pages));
	uint64_t begun;

	if (!n || !workers || !all || !pages || argc > 4 || (argc == 4 && !choose(argv[3])))
		return 2;
	for (size_t chunk = 0; chunk < CHUNKS; chunk++)
		for (size_t i = 0; i < RECORDS; i++)
			chunks[chunk][i] = chunk + i * STEP;
	for (size_t i = 0; i < (size_t)n * PAGES; i++)
		give(&pages[i]);
	begun = now_ns();
	until = begun + (uint64_t)(atof(argv[2]) * 1e9);
	for (unsigned i = 0; i < n; i++) {
		workers[i] = (struct worker){ .counted = &all[i], .state = i + 1 };
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	tell("ebizzy", all, n, (double)(now_ns() - begun) / 1e9);
	return 0;
}
