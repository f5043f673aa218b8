/* SPDX-License-Identifier: MIT */
/*
 * Barriers, over the central barrier of wait/barrier.h, if `run --barrier barrier` asks for it.
 *
 * The program may destroy a barrier, and free its memory, as soon as one thread has come back from it, while others
 * still look at it. So the last thread of a round counts the others in before it lets them go, each of these takes
 * itself off after its last look, and destroy waits until nobody is left.
 */
#include "interposer.h"

#include <errno.h>
#include <string.h>

#define OURS 0x6f6c6261u

static pthread_barrier_t *glibc(struct barrier *b)
{
	return (pthread_barrier_t *)(void *)b;
}

static bool is_shared(const pthread_barrierattr_t *attr)
{
	int shared = PTHREAD_PROCESS_PRIVATE;

	return attr &&
	       (pthread_barrierattr_getpshared(attr, &shared) || shared != PTHREAD_PROCESS_PRIVATE);
}

/* glibc must write nothing where we look for our mark. */
void ol_run_barriers_start(void)
{
	struct barrier made;

	memset(&made, 0, sizeof(made));
	made.mark = OURS;
	ol_run_real.barrier_init(glibc(&made), 0, 1);
	if (made.mark != OURS)
		ol_run_refuse(
			"pthread_barrier_init",
			"this glibc keeps a barrier in an unknown way; run without --barrier");
	ol_run_real.barrier_destroy(glibc(&made));
}

int ol_run_barrier_init(struct barrier *b, const pthread_barrierattr_t *attr, unsigned n)
{
	ol_run_start(); /* for the choice */
	if (!ol_run_has_barriers || is_shared(attr)) {
		b->mark = 0;
		return ol_run_real.barrier_init(glibc(b), attr, n);
	}
	if (!n || n > INT32_MAX)
		return EINVAL;
	*b = (struct barrier){ .threads = n, .mark = OURS };
	return 0;
}

/* After the last look; the memory may be gone then. Releases: destruction comes after that look. */
static void leave(struct barrier *b)
{
	if (ol_add_release(&b->inside, ~0u) == 1)
		ol_wake_all(&b->inside);
}

static int wait_at_glibcs(struct barrier *b)
{
	ol_run_start(); /* for `ol_run_real` */
	if (ol_run_has_barriers)
		LEFT(shared_barrier);
	else
		LEFT(barrier);
	return ol_run_real.barrier_wait(glibc(b));
}

/* Announced, and as one that sleeps by itself: many short waits would look like a long one, and sleep.c would nap. */
static void await(struct barrier *b, uint32_t sense)
{
	static const struct ol_lock_ops sleeps_in_time = { .id = "barrier", .traits = OL_BY_CLOCK };
	struct wait w;

	ol_run_wait_begin(&w, 0, &sleeps_in_time, OL_NEVER);
	ol_barrier_await(&b->meet, b->threads, sense, OL_NEVER);
	ol_run_wait_end(&w);
}

int ol_run_barrier_wait(struct barrier *b)
{
	uint32_t sense;
	bool last;

	if (b->mark != OURS)
		return wait_at_glibcs(b);
	sense = ol_barrier_arrive(&b->meet, b->threads, &last);
	if (!last) {
		await(b, sense);
		leave(b);
		return 0;
	}
	ol_add_relaxed(&b->inside, b->threads - 1); /* the opening releases it */
	ol_barrier_open(&b->meet, sense);
	return PTHREAD_BARRIER_SERIAL_THREAD;
}

int ol_run_barrier_destroy(struct barrier *b)
{
	if (b->mark != OURS) {
		ol_run_start();
		return ol_run_real.barrier_destroy(glibc(b));
	}
	ol_wait_until(&b->inside, ol_equals, 0, OL_NEVER);
	b->mark = 0;
	return 0;
}
