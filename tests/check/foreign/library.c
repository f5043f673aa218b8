// SPDX-License-Identifier: MIT
// Locks that call the C library: memory, delays, memset(). KIND picks one, MUTANT a fault.
#include <overlock/checked.h>

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { allocates, delays, clears, gives_up };
enum { none, frees_early, frees_twice, frees_another, uses_freed, clears_nothing };
#ifndef KIND
#define KIND allocates
#endif
#ifndef MUTANT
#define MUTANT none
#endif
#define IS(mutant)	(MUTANT == (mutant))

/* MCS, its nodes from malloc(). */
struct node {
	struct node *next;
	int granted;
};

struct queue {
	struct node *tail, *holder;
};

static void allocates_lock(struct queue *q)
{
	struct node *me = malloc(sizeof(*me)), *before;

	me->next = 0;
	me->granted = 0;
	before = __atomic_exchange_n(&q->tail, me, __ATOMIC_ACQ_REL);
	if (before) {
		__atomic_store_n(&before->next, me, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&me->granted, __ATOMIC_ACQUIRE))
			ol_checked_spin_endlessly();
	}
	q->holder = me;
}

static void allocates_unlock(struct queue *q)
{
	struct node *me = q->holder, *expected = me, *next;

	if (IS(frees_early))
		free(me);
	if (!__atomic_compare_exchange_n(&q->tail, &expected, 0, 0, __ATOMIC_RELEASE,
					 __ATOMIC_RELAXED)) {
		while (!(next = __atomic_load_n(&me->next, __ATOMIC_ACQUIRE)))
			ol_checked_spin_endlessly();
		__atomic_store_n(&next->granted, 1, __ATOMIC_RELEASE);
	}
	if (!IS(frees_early))
		free(IS(frees_another) ? (char *)me + 4 : (void *)me);
	if (IS(frees_twice))
		free(me);
	if (IS(uses_freed))
		__atomic_load_n(&me->next, __ATOMIC_RELAXED);
}

/* Its waiters sleep for a while, each in its own way. */
static void delays_lock(int *word)
{
	struct timespec short_time = { 0, 1000 };

	while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE)) {
		switch (gettid() % 4) {
		case 0:
			usleep(10);
			break;
		case 1:
			nanosleep(&short_time, 0);
			break;
		case 2:
			sched_yield();
			break;
		default:
			poll(0, 0, 1);
		}
	}
}

/* Released by memset(), of as many bytes as are worth a few stores. */
static void clears_unlock(int *word)
{
	if (!IS(clears_nothing))
		memset(word, 0, 2 * sizeof(*word));
}

/* By the clock, if it must. */
static bool gives_up_try(int *word)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec++;
	while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > end.tv_sec)
			return false;
	}
	return true;
}

static void lock(void *o)
{
	switch (KIND) {
	case allocates:
		return allocates_lock(o);
	case gives_up:
		while (!gives_up_try(o))
			usleep(1);
		return;
	default:
		return delays_lock(o);
	}
}

static void unlock(void *o)
{
	switch (KIND) {
	case allocates:
		return allocates_unlock(o);
	case clears:
		return clears_unlock(o);
	default:
		__atomic_store_n((int *)o, 0, __ATOMIC_RELEASE);
	}
}

const struct ol_checked_lock overlock_checked = {
	.name = "library",
	.size = sizeof(struct queue),
	.lock = lock,
	.unlock = unlock,
};
