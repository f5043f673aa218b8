/* SPDX-License-Identifier: MIT */
/* Parking and yielding: futexes with bit sets for keys. */
#define OL_POLL_HOOK
#include "internal.h"
#include "slices.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS	50000 /* as long as the kernel's timer slack */

#ifdef OL_COUNTED
static void count_if_unchanged(const uint32_t *word, uint32_t seen)
{
	if (ol_load_relaxed(word) == seen)
		ol_count(OL_SPURIOUS);
}
#else
#define ol_count_sleep(parks)		((void)0)
#define ol_count_wake()			((void)0)
#define ol_count_until(until)		(until)
#define count_if_unchanged(word, seen)	((void)0)
#endif

static int futex_op(int op)
{
	return ol_tune(shared) ? op : op | FUTEX_PRIVATE_FLAG;
}

/* The kernel's deadline for `until`, on CLOCK_MONOTONIC; false if it has passed. */
static bool deadline(struct timespec *ts, ol_ticks_t until)
{
	ol_ticks_t now =
		ol_now_by_clock(); /* or an error of the counter's would be slept through */
	uint64_t at;

	if (!ol_before(now, until))
		return false;
	at = ol_clock() + ol_ns_from_ticks(until - now);
	ts->tv_sec = (time_t)(at / 1000000000);
	ts->tv_nsec = (long)(at % 1000000000);
	return true;
}

/* A filter that forbids futexes: a nap lets the holder run, even if the waiter has a real-time priority. */
static void wait(const uint32_t *word, uint32_t seen, const struct timespec *until, uint32_t key)
{
	if (!syscall(SYS_futex, word, futex_op(FUTEX_WAIT_BITSET), seen, until, 0, key))
		return;
	if (errno != EAGAIN && errno != EINTR && errno != ETIMEDOUT)
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = NAP_NS }, 0);
}

/*
 * Whatever it answers is a reason to look again: EAGAIN the word has changed, EINTR a signal,
 * ETIMEDOUT. The kernel compares under its own lock, after a full fence.
 */
void ol_park(const uint32_t *word, uint32_t seen, uint32_t key, ol_ticks_t until)
{
	int saved = errno;
	struct timespec ts;

	ol_count_sleep(true);
	until = ol_count_until(until);
	if (until == OL_NEVER)
		wait(word, seen, 0, key);
	else if (deadline(&ts, until))
		wait(word, seen, &ts, key);
	ol_slice_note_away();
	ol_count_wake();
	count_if_unchanged(word, seen);
	errno = saved;
}

/* EFAULT: the lock's memory is gone, and nobody can be asleep there. */
void ol_kick(const uint32_t *word, uint32_t key, int n)
{
	int saved = errno;

	syscall(SYS_futex, word, futex_op(FUTEX_WAKE_BITSET), n, 0, 0, key);
	errno = saved;
}

static OL_THREAD_LOCAL uint32_t *competes_for;

void ol_compete(uint32_t *word)
{
	competes_for = word;
}

void ol_leave(void)
{
	uint32_t *word = competes_for;

	if (!word)
		return;
	competes_for = 0;
	ol_add_relaxed(word, 1u); /* a futex: the kernel compares it under its own lock */
	ol_kick(word, OL_ANY, 1);
}

void ol_yield(void)
{
	int saved = errno; /* a filter may forbid it */
	ol_ticks_t since = ol_now();

	ol_count_sleep(false);
	sched_yield();
	errno = saved;
	if (ol_passed(ol_later(since, 1, ol_tune(pace)))) /* two switches: others ran */
		ol_slice_note_away();
	ol_count_wake();
	ol_polled(OL_NEVER);
}

/* Linux lets nobody name the thread that should run next; `overlock sched` does. */
void ol_yield_to(uint32_t id)
{
	ol_slices_name(id);
	ol_yield();
	ol_slices_unname();
}
