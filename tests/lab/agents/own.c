/* SPDX-License-Identifier: MIT */
/*
 * A program with liboverlock, one CPU and several threads: each says how often it was switched, how many
 * slices it had meanwhile, and how often it saw another one that was off its CPU while it had it itself.
 *
 *	own THREADS SWITCHES	also in threads that come and go
 *	own rest		says what it knows, for each line of its input
 */
#include <overlock/ops.h>
#include <overlock/overlock.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64 };

static unsigned threads;
static uint32_t ids[MOST];
static long wanted;

static void hang(void)
{
	alarm(120);
}

static long switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r.ru_nvcsw + r.ru_nivcsw;
}

/* Both of the same moment. */
static uint64_t look(long *switched)
{
	uint64_t id;

	do {
		id = ol_slice_id();
		*switched = switches();
	} while (id != ol_slice_id());
	return id;
}

/* The monitor's ids begin with a time, others with 0. */
static bool told(void)
{
	return ol_slice_id() > 1000000000;
}

static void *spins(void *mine)
{
	const unsigned me = (unsigned)(uintptr_t)mine;
	uint64_t first, last;
	long from, to, preempted = 0;

	ol_store_release(&ids[me], ol_self());
	while (!told())
		;
	first = look(&from);
	do {
		for (unsigned i = 0; i < threads; i++)
			preempted += i != me && ol_is_preempted(ol_load_relaxed(&ids[i]));
		last = look(&to);
	} while (to - from < wanted);
	printf("{\"switches\": %ld, \"slices\": %llu, \"preempted\": %ld, \"self\": %d}\n",
	       to - from, (unsigned long long)(last - first), preempted,
	       ol_is_preempted(ol_self()));
	return NULL;
}

static void in_threads(void)
{
	pthread_t them[MOST];

	for (unsigned i = 0; i < threads; i++)
		pthread_create(&them[i], NULL, spins, (void *)(uintptr_t)i);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(them[i], NULL);
}

static void *sleeps(void *unused)
{
	ol_self();
	while (!told())
		; /* else nobody would hear of it until it wakes up */
	ol_store_release(&ids[0], ol_self());
	pause();
	return unused;
}

static void rest(void)
{
	pthread_t sleeper;
	char line[64];

	pthread_create(&sleeper, NULL, sleeps, NULL);
	ol_self();
	printf("%d\n", getpid());
	while (fgets(line, sizeof(line), stdin))
		printf("{\"told\": %d, \"off\": %d, \"ends\": %d}\n", told(),
		       ol_is_preempted(ol_load_relaxed(&ids[0])), ol_slice_end() != OL_NEVER);
}

int main(int argc, char **argv)
{
	cpu_set_t one;

	hang();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2 || !strcmp(argv[1], "rest")) {
		rest();
		return 0;
	}
	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	threads = (unsigned)atoi(argv[1]);
	wanted = atol(argv[2]);
	in_threads();
	in_threads(); /* others, with the ids of those */
	return 0;
}
