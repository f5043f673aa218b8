/* SPDX-License-Identifier: MIT */
/*
 * overlock-sched-load: threads that share CPUs, some of which lie to the scheduler; and what a switch costs.
 *
 *	shares SECONDS ROLE...	a thread of each role computes; prints the CPU time of each, and how long it was
 *		honest		says nothing
 *		defers		always says "not now"
 *		names		always says that it waits for the next thread of this role
 *		light		the same as honest, at nice 5
 *		wakes		computes 0.1 ms, sleeps 1 ms, and so on
 *		ROLE+MS		sleeps for so many ms first
 *	joins THREADS HOGS	so many threads begin at once, beside so many that compute; prints how long they took
 *				until they knew their slices, and how many did not
 *	switches SECONDS	two threads on one CPU: each yields (yield_ns), or wakes the other and sleeps
 *				(sleep_ns); time of a switch
 */
#define _GNU_SOURCE
#include "../lib/slices.h"
#include <linux/futex.h>
#include <overlock/ops.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { USAGE = 2, MOST = 64 };

static struct thread {
	pthread_t handle;
	const char *role;
	unsigned long late_ms;
	uint32_t id;
	double cpu_s, joined_s;
	bool is_known;
} threads[MOST];

static unsigned count;
static pthread_barrier_t all;
static uint32_t over;

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The next of the same role; itself if there is no other. */
static uint32_t partner(const struct thread *me)
{
	unsigned mine = (unsigned)(me - threads);

	for (unsigned i = 1; i < count; i++)
		if (!strcmp(threads[(mine + i) % count].role, me->role))
			return threads[(mine + i) % count].id;
	return me->id;
}

static void compute_and_sleep(void)
{
	double until = seconds_of(CLOCK_THREAD_CPUTIME_ID) + 1e-4;

	while (seconds_of(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	usleep(1000);
}

static void *computes(void *argument)
{
	struct thread *me = argument;
	double began;

	me->id = ol_self();
	usleep(50000); /* until the scheduler knows us */
	pthread_barrier_wait(&all);
	usleep((useconds_t)me->late_ms * 1000);
	if (!strcmp(me->role, "defers"))
		ol_defer_begin();
	if (!strcmp(me->role, "light"))
		setpriority(PRIO_PROCESS, (id_t)gettid(), 5);
	if (!strcmp(me->role, "names"))
		ol_slices_name(partner(me));
	began = seconds_of(CLOCK_THREAD_CPUTIME_ID);
	while (!ol_load_relaxed(&over))
		if (!strcmp(me->role, "wakes"))
			compute_and_sleep();
	me->cpu_s = seconds_of(CLOCK_THREAD_CPUTIME_ID) - began;
	return NULL;
}

/* As in honest+300. */
static void assign(struct thread *to, char *role)
{
	char *late = strchr(role, '+');

	to->role = role;
	if (!late)
		return;
	*late = 0;
	to->late_ms = strtoul(late + 1, NULL, 10);
}

static void share(double seconds, char **roles)
{
	double began;

	pthread_barrier_init(&all, NULL, count + 1);
	for (unsigned i = 0; i < count; i++) {
		assign(&threads[i], roles[i]);
		if (pthread_create(&threads[i].handle, NULL, computes, &threads[i]))
			exit(1);
	}
	pthread_barrier_wait(&all);
	began = seconds_of(CLOCK_MONOTONIC);
	usleep((useconds_t)(seconds * 1e6));
	ol_store_relaxed(&over, 1u);
	printf("{\"seconds\": %.6f, \"shares\": [", seconds_of(CLOCK_MONOTONIC) - began);
	for (unsigned i = 0; i < count; i++) {
		pthread_join(threads[i].handle, NULL);
		printf("%s{\"role\": \"%s\", \"late_ms\": %lu, \"cpu_s\": %.6f}", i ? ", " : "",
		       threads[i].role, threads[i].late_ms, threads[i].cpu_s);
	}
	printf("]}\n");
}

/* Joining. */

static void *hogs(void *unused)
{
	pthread_barrier_wait(&all);
	while (!ol_load_relaxed(&over))
		;
	return unused;
}

static void *joins(void *argument)
{
	struct thread *me = argument;
	double began;
	uint64_t id;

	pthread_barrier_wait(&all);
	began = seconds_of(CLOCK_MONOTONIC);
	ol_self();
	me->joined_s = seconds_of(CLOCK_MONOTONIC) - began;
	me->is_known = ol_slices_id(&id);
	return NULL;
}

static void join_many(unsigned newcomers)
{
	double most = 0;
	unsigned known = 0;

	pthread_barrier_init(&all, NULL, count);
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&threads[i].handle, NULL, i < newcomers ? joins : hogs,
				   &threads[i]))
			exit(1);
	for (unsigned i = 0; i < count; i++) {
		if (i == newcomers)
			ol_store_relaxed(&over, 1u);
		pthread_join(threads[i].handle, NULL);
		known += threads[i].is_known;
		most = threads[i].joined_s > most ? threads[i].joined_s : most;
	}
	printf("{\"joins\": %u, \"known\": %u, \"most_ms\": %.3f}\n", newcomers, known, most * 1e3);
}

/* Switching. */

static uint32_t turn; /* of the threads 0 and 1 */

static void *yields(void *unused)
{
	while (!ol_load_relaxed(&over))
		sched_yield();
	return unused;
}

static void pass_turn(uint32_t to)
{
	ol_store_release(&turn, to);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *sleeps(void *argument)
{
	uint32_t mine = argument != NULL;

	while (!ol_load_relaxed(&over)) {
		while (ol_load_acquire(&turn) != mine && !ol_load_relaxed(&over))
			syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !mine, NULL, NULL, 0);
		pass_turn(!mine);
	}
	pass_turn(!mine); /* the other may be about to sleep */
	return NULL;
}

static long switches_of_process(void)
{
	long sum = 0, n;
	char line[128];

	for (unsigned i = 0; i < 2; i++) {
		FILE *file;

		snprintf(line, sizeof(line), "/proc/self/task/%u/status", threads[i].id);
		file = fopen(line, "re");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ||
			    sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1)
				sum += n;
		if (file)
			fclose(file);
	}
	return sum;
}

static void *(*body)(void *);

static void *bound(void *argument)
{
	struct thread *me = argument;
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
	ol_store_release(&me->id, (uint32_t)gettid());
	return body(me == threads ? NULL : me);
}

static double switch_ns(void *(*does)(void *), double seconds)
{
	long before;

	body = does;
	over = 0;
	for (unsigned i = 0; i < 2; i++) {
		threads[i].id = 0;
		if (pthread_create(&threads[i].handle, NULL, bound, &threads[i]))
			exit(1);
		while (!ol_load_acquire(&threads[i].id))
			usleep(1000);
	}
	before = switches_of_process();
	usleep((useconds_t)(seconds * 1e6));
	before = switches_of_process() - before;
	ol_store_relaxed(&over, 1u);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i].handle, NULL);
	/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): it takes the conversion to make it zero. */
	return before ? seconds * 1e9 / (double)before : 0;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 0;

	if (seconds > 0 && argc > 3 && argc - 3 <= MOST && !strcmp(argv[1], "shares")) {
		count = (unsigned)argc - 3;
		share(seconds, argv + 3);
	} else if (argc == 4 && !strcmp(argv[1], "joins") && seconds + atoi(argv[3]) <= MOST) {
		count = (unsigned)(atoi(argv[2]) + atoi(argv[3]));
		join_many((unsigned)atoi(argv[2]));
	} else if (seconds > 0 && argc == 3 && !strcmp(argv[1], "switches")) {
		printf("{\"yield_ns\": %.1f, ", switch_ns(yields, seconds));
		printf("\"sleep_ns\": %.1f}\n", switch_ns(sleeps, seconds));
	} else {
		fprintf(stderr,
			"usage: overlock-sched-load shares SECONDS ROLE... | joins THREADS HOGS | "
			"switches SECONDS\n");
		return USAGE;
	}
	return 0;
}
