// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * ebizzy SECONDS THREADS: the mix of the benchmark of that name, a web application's. Each thread takes
 * one of many chunks of sorted records, maps memory, copies the chunk into it, looks a record up in
 * the copy and unmaps that. Every half second it prints "at UPTIME RECORDS".
 *
 * Unmapping tells all CPUs that run the program to forget the mapping, and waits for them: how fast
 * this is depends on these interrupts more than on any lock.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MOST_THREADS 256
#define CHUNKS 10
#define RECORDS 32768 /* of a chunk: 256 KiB, as there */
#define STEP 7	      /* between two records */
#define LOOK_NS 500000000

static uint64_t *chunks[CHUNKS];
static atomic_bool over, wrong;

static struct {
	_Alignas(128) atomic_ullong found;
} each[MOST_THREADS];

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static uint64_t *mapped(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("ebizzy: mmap");
		exit(1);
	}
	return p;
}

static size_t place_of(const uint64_t *records, uint64_t key)
{
	size_t low = 0, high = RECORDS;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (records[middle] <= key)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void *work(void *arg)
{
	size_t me = (size_t)arg, bytes = RECORDS * sizeof(uint64_t);
	uint64_t state = me + 1;

	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		size_t chunk = next(&state) % CHUNKS, wanted = next(&state) % RECORDS;
		uint64_t *copy = mapped(bytes);

		memcpy(copy, chunks[chunk], bytes);
		if (place_of(copy, chunk + wanted * STEP) != wanted)
			atomic_store(&wrong, true);
		munmap(copy, bytes);
		atomic_fetch_add_explicit(&each[me].found, 1, memory_order_relaxed);
	}
	return NULL;
}

/* The clock that /proc/uptime shows. */
static void say(unsigned int threads)
{
	unsigned long long sum = 0;
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	for (unsigned int i = 0; i < threads; i++)
		sum += atomic_load_explicit(&each[i].found, memory_order_relaxed);
	printf("at %lld.%06ld %llu\n", (long long)now.tv_sec, now.tv_nsec / 1000, sum);
	fflush(stdout);
}

static void fill(void)
{
	for (size_t c = 0; c < CHUNKS; c++) {
		chunks[c] = mapped(RECORDS * sizeof(uint64_t));
		for (size_t i = 0; i < RECORDS; i++)
			chunks[c][i] = c + i * STEP;
	}
}

int main(int argc, char **argv)
{
	unsigned int looks = argc > 1 ? (unsigned int)(2 * atof(argv[1])) : 0;
	unsigned int threads = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	pthread_t ids[MOST_THREADS];

	if (!looks || !threads || threads > MOST_THREADS) {
		fprintf(stderr, "ebizzy: give SECONDS and THREADS, at most %d\n", MOST_THREADS);
		return 2;
	}
	fill();
	for (unsigned int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, (void *)(size_t)i)) {
			fprintf(stderr, "ebizzy: thread %u cannot be made\n", i);
			return 1;
		}
	/* Half a second to begin, then the counted time. */
	for (unsigned int i = 0; i <= looks; i++) {
		nanosleep(&pause, NULL);
		say(threads);
	}
	atomic_store(&over, true);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	if (atomic_load(&wrong))
		puts("wrong: a record was not where it is");
	return 0;
}
