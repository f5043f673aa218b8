/* SPDX-License-Identifier: MIT */
/*
 * Threads that spin, on locks and on none: spinning WHAT [wait], for a line of input; or [TIMES] as long. It prints how much CPU time it had, how much of it went into
 * spinning, and for "two" how much of that at the barrier that suffers. No function is called by what it is: names tell
 * nothing.
 */
#include "planted.h"
#include <stdatomic.h>

enum { CROWD = 3 }; /* threads for each CPU */

static int n_threads, n_cpus, times = 1;
static _Atomic uint64_t all_cpu_ns, all_spun_ns, suffered_ns;
static __thread uint64_t began;

static void begins(void)
{
	began = own_cpu_ns();
}

static void ends(_Atomic uint64_t *also)
{
	uint64_t ns = own_cpu_ns() - began;

	all_spun_ns += ns;
	if (also)
		*also += ns;
}

static void relax(void)
{
	__builtin_ia32_pause();
}

/* A sense-reversing barrier. */
struct meeting {
	_Atomic int missing;
	int n;
	_Atomic bool sense;
};

static void gather(struct meeting *m, bool *mine)
{
	*mine = !*mine;
	if (atomic_fetch_sub(&m->missing, 1) == 1) {
		m->missing = m->n;
		m->sense = *mine;
		return;
	}
	while (m->sense != *mine)
		relax();
}

static __attribute__((noinline)) void gather_there(struct meeting *m, bool *mine)
{
	gather(m, mine);
}

static struct meeting crowded, roomy;

static void barrier(int number)
{
	bool mine = false;

	for (int k = 0; k < 150 * times; k++) {
		spend(100000 + 10000 * (uint64_t)number);
		begins();
		gather(&crowded, &mine);
		ends(0);
	}
}

/* The first meeting has a CPU for each, the second has not. */
static void two(int number)
{
	bool mine = false, other = false;

	for (int k = 0; k < 200 && number < n_cpus; k++) {
		spend(200000);
		begins();
		gather_there(&roomy, &mine);
		ends(0);
	}
	for (int k = 0; k < 150; k++) {
		spend(100000);
		begins();
		gather(&crowded, &other);
		ends(&suffered_ns);
	}
}

static void short_barrier(int number)
{
	bool mine = false;

	pin(number);
	for (int k = 0; k < 20000; k++) {
		spend(20000);
		begins();
		gather(&roomy, &mine);
		ends(0);
	}
}

/* Mailboxes: the first thread writes to each of the others in turn. */
static struct {
	_Atomic long letter;
	char unused[56];
} boxes[MOST_THREADS];

static void mailbox(int number)
{
	for (int k = 1; k <= 800; k++)
		if (number) {
			begins();
			while (boxes[number].letter < k)
				relax();
			ends(0);
			spend(20000);
		} else {
			for (int to = 1; to < n_threads; to++) {
				spend(200000);
				boxes[to].letter = k;
			}
		}
}

/* Workers spin for 50 ms before they sleep; the first thread has something for them now and then. */
static _Atomic unsigned tasks;
static pthread_mutex_t tasks_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tasks_came = PTHREAD_COND_INITIALIZER;

static void obtain(unsigned seen)
{
	for (uint64_t end = now_ns() + 50000000; tasks == seen && now_ns() < end;)
		for (int k = 0; k < 1000 && tasks == seen; k++)
			relax();
	pthread_mutex_lock(&tasks_lock);
	while (tasks == seen)
		pthread_cond_wait(&tasks_came, &tasks_lock);
	pthread_mutex_unlock(&tasks_lock);
}

static void pool(int number)
{
	for (unsigned k = 0; k < 30; k++) {
		if (number) {
			begins();
			obtain(k);
			ends(0);
			spend(1000000);
			continue;
		}
		spend(20000000);
		pthread_mutex_lock(&tasks_lock);
		tasks++;
		pthread_cond_broadcast(&tasks_came);
		pthread_mutex_unlock(&tasks_lock);
	}
}

/* A ticket lock. */
static struct {
	_Atomic unsigned next, serving;
} desk;

static void ticket(int number)
{
	(void)number;
	for (int k = 0; k < 200; k++) {
		begins();
		unsigned mine = atomic_fetch_add(&desk.next, 1);

		while (desk.serving != mine)
			relax();
		ends(0);
		spend(100000);
		desk.serving = mine + 1;
		spend(100000);
	}
}

/* A queue lock, MCS. */
struct place {
	struct place *_Atomic next;
	_Atomic bool waits;
};
static struct place *_Atomic last_place;

static void queue(int number)
{
	struct place mine, *before, *none;

	(void)number;
	for (int k = 0; k < 200; k++) {
		begins();
		mine.next = 0;
		mine.waits = true;
		before = atomic_exchange(&last_place, &mine);
		if (before) {
			before->next = &mine;
			while (mine.waits)
				relax();
		}
		ends(0);
		spend(100000);
		none = &mine;
		if (!atomic_compare_exchange_strong(&last_place, &none, 0)) {
			while (!mine.next)
				relax();
			mine.next->waits = false;
		}
		spend(100000);
	}
}

/* A flag, and yields. */
static _Atomic long turn;

static void yields(int number)
{
	for (long k = number; k < 6000 * n_threads; k += n_threads) {
		begins();
		while (turn != k)
			sched_yield();
		ends(0);
		spend(50000);
		turn = k + 1;
	}
}

/* Two threads hand a number to each other, each on its CPU. */
static void pays(int number)
{
	pin(number);
	for (long k = number; k < 40000; k += 2) {
		begins();
		while (turn != k)
			relax();
		ends(0);
		spend(10000);
		turn = k + 1;
	}
}

/* Reads, compares, and changes nothing; but it ends by itself. */
static int sought[1 << 16];

static __attribute__((noinline)) int *seek(int *at, int what)
{
	while (*at != what)
		at++;
	return at;
}

static __attribute__((noinline)) int *last_of(int *at)
{
	while (at[1] >= at[0])
		at++;
	return at;
}

static void computes(int number)
{
	(void)number;
	while (own_cpu_ns() < 500000000)
		if (seek(sought, 1) != last_of(sought))
			abort();
}

static const struct {
	const char *name;
	body does;
	bool is_crowd, is_alone;
} kinds[] = {
	{ "barrier", barrier, true, false },	 { "two", two, true, false },
	{ "mailbox", mailbox, true, false },	 { "pool", pool, true, false },
	{ "ticket", ticket, true, false },	 { "queue", queue, true, false },
	{ "yields", yields, true, false },	 { "pays", pays, false, true },
	{ "short", short_barrier, false, true }, { "computes", computes, true, false },
};

static body does;

static void run(int number)
{
	does(number);
	all_cpu_ns += own_cpu_ns();
}

int main(int argc, char **argv)
{
	sought[(1 << 16) - 2] = 1;
	sought[(1 << 16) - 1] = 0;
	calibrate();
	n_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		if (argc > 1 && !strcmp(kinds[k].name, argv[1])) {
			does = kinds[k].does;
			n_threads = kinds[k].is_crowd ? CROWD * n_cpus : 2;
			if (kinds[k].is_alone)
				be_alone();
		}
	if (!does)
		return 2;
	if (argc > 2 && !strcmp(argv[2], "wait"))
		getchar();
	else if (argc > 2)
		times = atoi(argv[2]);
	crowded.missing = crowded.n = n_threads;
	roomy.missing = roomy.n = n_cpus < n_threads ? n_cpus : n_threads;
	for (int k = 0; k < n_threads; k++)
		bodies[k] = run;
	run_threads(n_threads);
	printf("{\"cpu_ns\": %llu, \"spun_ns\": %llu, \"suffered_ns\": %llu}\n",
	       (unsigned long long)all_cpu_ns, (unsigned long long)all_spun_ns,
	       (unsigned long long)suffered_ns);
	return 0;
}
