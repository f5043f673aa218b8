/* SPDX-License-Identifier: MIT */
/*
 * measured-ebizzy THREADS SECONDS: ebizzy's loop with a lock of the program's. Each thread copies one of many chunks
 * of sorted records, page by page, looks a record up in the copy, and gives its pages back. The pages come from a
 * pool behind a mutex, as the original's come from the kernel at each page fault. Counts records.
 */
#include "counted.h"
#include <pthread.h>
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
static struct page *pool;
static uint64_t until;

struct worker {
	pthread_t thread;
	struct counted *counted;
	uint64_t state;
};

static struct page *take(void)
{
	struct page *p;

	pthread_mutex_lock(&mutex);
	p = pool;
	pool = p->next;
	pthread_mutex_unlock(&mutex);
	return p;
}

static void give(struct page *p)
{
	pthread_mutex_lock(&mutex);
	p->next = pool;
	pool = p;
	pthread_mutex_unlock(&mutex);
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

int main(int argc, char **argv)
{
	unsigned n = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
	struct worker *workers = calloc(n, sizeof(*workers));
	struct counted *all = calloc(n, sizeof(*all));
	struct page *pages = calloc((size_t)n * PAGES, sizeof(*pages));
	uint64_t begun;

	if (!n || !workers || !all || !pages)
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
