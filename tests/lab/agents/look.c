/* SPDX-License-Identifier: MIT */
/*
 * Reads a slice page as a guest's kernel does.
 *
 *	look judge FILE ENTRY	 for each line of our time, in ns, on stdin: what the entry means then
 *	look race READS		 a thread writes an entry, all its fields alike: how many of so many whole
 *				 reads were mixed
 *	look spin FILE N SECONDS N threads on one CPU look at their own entries, so long or somewhat longer;
 *				 -1: until they are told nothing any more
 *	look reuse exit|exec	 tells two threads; after a line on stdin the first ends, or executes another
 *				 program, and a process that spins gets its id; until another line
 */
#define _GNU_SOURCE
#include <overlock/slice_reader.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static_assert(OL_SLICE_PAGE_LAYOUT, "the ABI of the slice page");

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static const void *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDWR);
	struct stat found;
	void *memory;

	if (fd < 0 || fstat(fd, &found))
		exit(2);
	*size = (size_t)found.st_size;
	/* Writable, as QEMU's is: a thread's own entry is written through it. */
	memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (memory == MAP_FAILED)
		exit(2);
	return memory;
}

static int judge(const char *path, unsigned i)
{
	struct ol_slice_clock clock = { 0 };
	const struct ol_slice_entry *there;
	struct ol_slice_map map;
	struct ol_slice_entry e;
	size_t size;
	const void *memory = map_file(path, &size);
	uint64_t now;

	if (!ol_slice_map_open(&map, memory, size)) {
		puts("{\"opened\": false}");
		return 0;
	}
	there = ol_slice_entry(&map, i);
	while (scanf("%" SCNu64, &now) == 1) {
		memset(&e, 0, sizeof(e));
		if (!there || !ol_slice_read(there, &e)) {
			puts("{\"opened\": true, \"whole\": false}");
		} else {
			ol_slice_clock_learn(&clock, now, e.published);
			now -= (uint64_t)ol_slice_offset(&clock);
			ol_slice_judge(&map, &e, now);
			printf("{\"opened\": true, \"whole\": true, \"told\": %s, \"id\": %llu, "
			       "\"end\": %llu, \"sure\": %llu, \"offset\": %" PRId64 "}\n",
			       ol_slice_told(&map, now) ? "true" : "false", e.id, e.end, e.sure,
			       ol_slice_offset(&clock));
		}
		fflush(stdout);
	}
	return 0;
}

static struct ol_slice_entry raced;
static uint32_t over;

static void *write_alike(void *unused)
{
	for (uint64_t k = 1; !ol_load_relaxed(&over); k++) {
		uint32_t seq = raced.seq;

		ol_store_relaxed(&raced.seq, seq + 1);
		ol_fence();
		ol_store_relaxed(&raced.id, k);
		ol_store_relaxed(&raced.begin, k);
		ol_store_relaxed(&raced.end, k);
		ol_store_relaxed(&raced.sure, k);
		ol_store_relaxed(&raced.published, k);
		ol_store_release(&raced.seq, seq + 2);
	}
	return unused;
}

static int race(uint64_t reads)
{
	uint64_t whole = 0, mixed = 0;
	struct ol_slice_entry e;
	pthread_t writer;

	pthread_create(&writer, NULL, write_alike, NULL);
	while (whole < reads && !mixed) {
		if (!ol_slice_read(&raced, &e))
			continue; /* the writer may be off its CPU for long, half-way */
		whole++;
		mixed += e.id != e.begin || e.id != e.end || e.id != e.sure || e.id != e.published;
	}
	ol_store_relaxed(&over, 1u);
	pthread_join(writer, NULL);
	printf("{\"whole\": %" PRIu64 ", \"mixed\": %" PRIu64 "}\n", whole, mixed);
	return 0;
}

/* Threads that spin. */

enum { MOST = 64 };

static struct spinner {
	unsigned index;
	pthread_t thread;
	pid_t id;
	struct ol_slice_clock clock;
	uint64_t looks, unread, untold, unknown, ahead, passed, endless, sure, changes, away_unseen;
	uint64_t ids;	   /* the last id and the first, between two looks */
	uint64_t switches; /* of the thread, between the same looks */
} spinners[MOST];

static struct ol_slice_map shared;
static pthread_barrier_t ready;

static uint64_t switches(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return (uint64_t)used.ru_nvcsw + (uint64_t)used.ru_nivcsw;
}

/* The id, and how often we were switched, at a moment between two switches. */
static void steady(const struct ol_slice_entry *there, uint64_t *id, uint64_t *switched)
{
	struct ol_slice_entry e;

	do {
		*switched = switches();
		while (!ol_slice_read(there, &e))
			;
		*id = e.id;
	} while (switches() != *switched);
}

/* A gap in a thread's own time, that long, is a time off its CPU. */
enum { GAP_NS = 500000 };

static void *spin(void *arg)
{
	struct spinner *s = arg;
	const struct ol_slice_entry *there;
	uint64_t last, first_id, first_switches, last_id, last_switches, id = 0;

	s->id = gettid();
	pthread_barrier_wait(&ready); /* our ids are told */
	pthread_barrier_wait(&ready); /* we are watched */
	there = ol_slice_entry(&shared, s->index);
	do {
		steady(there, &first_id, &first_switches);
	} while (!first_id && !ol_load_relaxed(&over));
	last = now_ns();
	while (!ol_load_relaxed(&over)) {
		uint64_t began = now_ns(), now;
		struct ol_slice_entry e;

		if (!(s->looks++ % 4096))
			ol_store_relaxed(&s->switches, switches() - first_switches);
		if (!ol_slice_read(there, &e)) {
			s->unread++;
			continue;
		}
		now = now_ns(); /* after the look, as slice_page.c has it */
		ol_slice_clock_learn(&s->clock, now, e.published);
		now -= (uint64_t)ol_slice_offset(&s->clock);
		if (!ol_slice_told(&shared, now)) {
			s->untold++;
			continue;
		}
		ol_slice_judge(&shared, &e, now);
		s->unknown += e.end == OL_SLICE_UNKNOWN;
		s->ahead += e.end > now;
		s->passed += e.end != OL_SLICE_UNKNOWN && e.end <= now;
		s->endless += e.end == OL_SLICE_NO_END;
		s->sure += e.sure != OL_SLICE_UNKNOWN;
		s->changes += id && e.id != id;
		/* The look lies wholly behind the gap: it must have been another slice before. */
		s->away_unseen += id && e.id == id && began - last > GAP_NS;
		id = e.id;
		last = now_ns();
	}
	steady(there, &last_id, &last_switches);
	s->ids = last_id - first_id;
	s->switches = last_switches - first_switches;
	return NULL;
}

static void tell(unsigned n)
{
	printf("[");
	for (unsigned i = 0; i < n; i++) {
		const struct spinner *s = &spinners[i];

		printf("%s{\"looks\": %" PRIu64 ", \"unread\": %" PRIu64 ", \"untold\": %" PRIu64
		       ", \"unknown\": %" PRIu64 ", \"ahead\": %" PRIu64 ", \"passed\": %" PRIu64
		       ", \"endless\": %" PRIu64 ", \"sure\": %" PRIu64 ", \"changes\": %" PRIu64
		       ", \"away_unseen\": %" PRIu64 ", \"ids\": %" PRIu64
		       ", \"switches\": %" PRIu64 "}",
		       i ? ", " : "", s->looks, s->unread, s->untold, s->unknown, s->ahead,
		       s->passed, s->endless, s->sure, s->changes, s->away_unseen, s->ids,
		       s->switches);
	}
	printf("]\n");
}

static void on_one_cpu(void)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/*
 * At least so long, and until all have been switched some times and have seen two slices end or that
 * nothing is told any more, on however busy a machine.
 */
enum { ENOUGH = 6, HANG_SECONDS = 300 };

static bool enough(unsigned n, bool until_untold)
{
	for (unsigned i = 0; i < n; i++) {
		const struct spinner *s = &spinners[i];
		uint64_t untold = ol_load_relaxed(&s->untold);

		if (ol_load_relaxed(&s->switches) < ENOUGH)
			return false;
		if (!untold && (until_untold || ol_load_relaxed(&s->changes) < 2))
			return false;
	}
	return true;
}

static void let_spin(unsigned n, double seconds)
{
	uint64_t began = now_ns();
	double passed;

	do {
		usleep(1000);
		passed = (double)(now_ns() - began) * 1e-9;
	} while (passed < seconds || (!enough(n, seconds < 0) && passed < HANG_SECONDS));
	ol_store_relaxed(&over, 1u);
}

static int spin_all(const char *path, unsigned n, double seconds)
{
	size_t size;
	const void *memory = map_file(path, &size);
	char line[16];

	on_one_cpu();
	pthread_barrier_init(&ready, NULL, n + 1);
	for (unsigned i = 0; i < n; i++) {
		spinners[i].index = i;
		pthread_create(&spinners[i].thread, NULL, spin, &spinners[i]);
	}
	pthread_barrier_wait(&ready);
	for (unsigned i = 0; i < n; i++)
		printf("%s%d", i ? "," : "", spinners[i].id);
	puts("");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin) || !ol_slice_map_open(&shared, memory, size))
		return 2;
	pthread_barrier_wait(&ready);
	let_spin(n, seconds);
	for (unsigned i = 0; i < n; i++)
		pthread_join(spinners[i].thread, NULL);
	tell(n);
	fflush(stdout);
	return !fgets(line, sizeof(line), stdin); /* until we may end */
}

/* An id that is used again. */

static _Atomic pid_t first_id;

static void *spin_until_over(void *executes)
{
	first_id = gettid();
	while (!ol_load_relaxed(&over))
		;
	if (executes) {
		char id[16];

		snprintf(id, sizeof(id), "%d", first_id);
		execl("/proc/self/exe", "look", "reused", id, NULL);
	}
	return NULL;
}

/* A process of that id, as soon as its thread has wholly gone. */
static pid_t process_of_id(pid_t id)
{
	const uint64_t ids = (uint64_t)(uintptr_t)&id;
	struct clone_args how = { .exit_signal = SIGCHLD, .set_tid = ids, .set_tid_size = 1 };
	pid_t us = getpid();
	long child;

	do {
		child = syscall(SYS_clone3, &how, sizeof(how));
	} while (child < 0 && errno == EEXIST);
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!child)
		if (getppid() != us) /* it had gone before we asked to go with it */
			_exit(0);
	return (pid_t)child;
}

static int reused(pid_t id)
{
	pid_t child = process_of_id(id);
	char line[16];

	printf("%d\n", child);
	fflush(stdout);
	return child < 0 || !fgets(line, sizeof(line), stdin) || kill(child, SIGKILL);
}

static int reuse(bool executes)
{
	pthread_t first;
	char line[16];

	pthread_create(&first, NULL, spin_until_over, executes ? &over : NULL);
	while (!first_id)
		sched_yield();
	printf("%d,%d\n", first_id, gettid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 2;
	ol_store_relaxed(&over, 1u);
	pthread_join(first, NULL);
	return reused(first_id);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "reuse"))
		return reuse(!strcmp(argv[2], "exec"));
	if (argc == 3 && !strcmp(argv[1], "reused"))
		return reused(atoi(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "judge"))
		return judge(argv[2], (unsigned)atoi(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "race"))
		return race(strtoull(argv[2], NULL, 10));
	if (argc == 5 && !strcmp(argv[1], "spin") && atoi(argv[3]) <= MOST)
		return spin_all(argv[2], (unsigned)atoi(argv[3]), atof(argv[4]));
	return 2;
}
