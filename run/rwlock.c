/* SPDX-License-Identifier: MIT */
/*
 * Rwlocks, over the queued rwlock of Long (lock/qrw.h), if `run --rwlock qrw` asks for it.
 *
 * Writers are qrw's: one FIFO queue. Writers with a deadline could not leave the
 * queue: they stay out of it and compete with the first in it. Readers depend on the kind:
 *
 *	prefer reader, prefer writer	pass any number of waiting writers, as in glibc: a thread may
 *					read again while a writer waits for it to stop
 *	prefer writer, nonrecursive	qrw's: they queue behind a writer that waits
 *
 * The child of a fork has no queue: waiters are the parent's threads. So the first caller in a new
 * epoch empties it, before a thread of this process can queue, and removes what waiters have left in
 * the count; holders, readers or the writer, keep the lock. Readers therefore enter
 * by compare-exchange and not by qrw's adding and taking back: the count never has one too many.
 */
#define OL_POLL_HOOK
#include "interposer.h"

#include <overlock/lock/qrw.h>

#include <errno.h>
#include <string.h>

static pthread_rwlock_t *glibc(struct rwlock *r)
{
	return (pthread_rwlock_t *)(void *)r;
}

static const struct ol_lock_ops *rwlock_ops(void)
{
	const struct ol_lock_ops *ops =
		ol_load_acquire(&ol_run_chosen_rwlock); /* with what ol_run_start() wrote */

	if (OL_UNLIKELY(!ops)) {
		ol_run_start();
		ops = ol_load_acquire(&ol_run_chosen_rwlock);
	}
	return ops;
}

static bool is_glibc(const struct rwlock *r)
{
	return !rwlock_ops() || r->shared;
}

static void count_glibc(const struct rwlock *r)
{
	if (r->shared)
		LEFT(shared_rwlock);
	else
		LEFT(rwlock);
}

/* Counting: an acquisition and a release, whichever way they went. */
#ifdef OL_COUNTED
static void begin(struct ol_call *c, struct rwlock *r)
{
	if (OL_UNLIKELY(ol_run_stacks_of_holds))
		ol_sites_take_for_hold(ol_run_caller);
	ol_acquire_begin(c, &r->lock, rwlock_ops(), ol_run_caller);
}

static int end(struct ol_call *c, int error)
{
	ol_acquire_end(c, !error ? OL_ACQUIRE : error == EBUSY ? OL_TRY_FAIL : OL_GIVE_UP);
	return error;
}

static void count_release(struct rwlock *r)
{
	struct ol_call c;

	ol_release_begin(&c, &r->lock, rwlock_ops(), ol_run_caller);
	ol_release_end(&c);
}
#else
struct ol_call {
	char none;
};
#define begin(c, r)	 ((void)(c))
#define end(c, error)	 (error)
#define count_release(r) ((void)0)
#endif

/* The queue, in this epoch. */

#define RENEWING (1u << 31)

static OL_COLD void renew(struct rwlock *r)
{
	uint32_t seen, w;

	while ((seen = ol_load_acquire(&r->queue_epoch)) != ol_run_epoch) {
		if (seen == (ol_run_epoch | RENEWING)) {
			ol_yield();
			continue;
		}
		if (!ol_cas_relaxed(&r->queue_epoch, seen, ol_run_epoch | RENEWING))
			continue;
		ol_store_relaxed(&r->lock.line.word, 0u);
		do {
			w = ol_load_relaxed(&r->lock.count);
		} while (!ol_cas_relaxed(&r->lock.count, w,
					 w & OL_QRW_HELD ? OL_QRW_HELD : w & ~OL_QRW_WAITING));
		/* Release, and acquire above: no thread queues before the queue is empty. */
		ol_store_release(&r->queue_epoch, ol_run_epoch);
	}
}

static inline void be_of_this_epoch(struct rwlock *r)
{
	know_process();
	if (OL_UNLIKELY(ol_load_acquire(&r->queue_epoch) != ol_run_epoch))
		renew(r);
}

/* Who writes. Only the holder itself can find its own id. */

static bool is_mine(const struct rwlock *r)
{
	uint32_t owner = ol_load_relaxed(&r->owner);

	return owner &&
	       owner == (ol_load_relaxed(&r->owner_epoch) == ol_run_epoch ? ol_run_self()
									  : ol_run_former_self());
}

static int own(struct rwlock *r)
{
	ol_store_relaxed(&r->owner_epoch, ol_run_epoch);
	ol_store_relaxed(&r->owner, ol_run_self());
	return 0;
}

/* One attempt: 0, EBUSY, or EAGAIN. */

static int try_read(struct rwlock *r)
{
	uint32_t bars = r->flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
				? OL_QRW_HELD | OL_QRW_WAITING
				: OL_QRW_HELD;
	uint32_t w;

	do {
		w = ol_load_relaxed(&r->lock.count);
		if (w & bars)
			return EBUSY;
		if (w > UINT32_MAX - OL_QRW_READER)
			return EAGAIN;
	} while (!ol_cas_acquire(&r->lock.count, w, w + OL_QRW_READER)); /* qrw's [A] */
	return 0;
}

static int try_write(struct rwlock *r)
{
	return ol_qrw_trylock(&r->lock) ? own(r) : EBUSY;
}

/* Past the queue, whose first waiter stays announced. */
static int steal(struct rwlock *r)
{
	uint32_t w = ol_load_relaxed(&r->lock.count);

	if ((w & ~OL_QRW_WAITING) || !ol_cas_acquire(&r->lock.count, w, w | OL_QRW_HELD))
		return EBUSY;
	return own(r);
}

/* Until it says other than EBUSY, or for ever if `until` is null. */
static int poll(struct rwlock *r, int (*attempt)(struct rwlock *), clockid_t clock,
		const struct timespec *until)
{
	ol_ticks_t tired = ol_after(1, ol_tune(spin));
	int error;

	ol_count(OL_SLOW_PATH);
	while ((error = attempt(r)) == EBUSY) {
		if (until && !ol_run_ns_left(clock, until))
			return ETIMEDOUT;
		if (ol_passed(tired))
			ol_yield();
		else
			ol_relax();
	}
	return error;
}

static int wait_to_read(struct rwlock *r, clockid_t clock, const struct timespec *until)
{
	if (until || r->flags != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
		return poll(r, try_read, clock, until);
	ol_qrw_read_lock_slow(&r->lock);
	return 0;
}

static int wait_to_write(struct rwlock *r, clockid_t clock, const struct timespec *until)
{
	if (until)
		return poll(r, steal, clock, until);
	ol_qrw_lock_slow(&r->lock);
	return own(r);
}

/* Naps if it takes long. */
static int wait(struct rwlock *r, int (*way)(struct rwlock *, clockid_t, const struct timespec *),
		clockid_t clock, const struct timespec *until)
{
	struct wait w;
	int error;

	ol_run_wait_begin(&w, 0, rwlock_ops(), OL_NEVER);
	error = way(r, clock, until);
	ol_run_wait_end(&w);
	return error;
}

static int read_until(struct rwlock *r, clockid_t clock, const struct timespec *until)
{
	int error = try_read(r);

	if (OL_UNLIKELY(error == EBUSY))
		return is_mine(r) ? EDEADLK : wait(r, wait_to_read, clock, until);
	return error;
}

static int write_until(struct rwlock *r, clockid_t clock, const struct timespec *until)
{
	if (OL_UNLIKELY(try_write(r)))
		return is_mine(r) ? EDEADLK : wait(r, wait_to_write, clock, until);
	return 0;
}

/* As glibc: looked at even by those that need not wait. */
static bool is_nonsense(clockid_t clock, const struct timespec *until)
{
	return until && (!ol_run_clock_is_known(clock) || !ol_run_time_is_valid(until));
}

static int acquire(struct rwlock *r,
		   int (*way)(struct rwlock *, clockid_t, const struct timespec *), clockid_t clock,
		   const struct timespec *until)
{
	struct ol_call c;

	if (is_nonsense(clock, until))
		return EINVAL;
	be_of_this_epoch(r);
	begin(&c, r);
	return end(&c, way(r, clock, until));
}

int ol_run_rwlock_read(struct rwlock *r)
{
	if (is_glibc(r)) {
		count_glibc(r);
		return ol_run_real.rwlock_rdlock(glibc(r));
	}
	return acquire(r, read_until, CLOCK_MONOTONIC, 0);
}

int ol_run_rwlock_timedread(struct rwlock *r, clockid_t clock, const struct timespec *until)
{
	if (is_glibc(r)) {
		count_glibc(r);
		if (clock == CLOCK_REALTIME)
			return ol_run_real.rwlock_timedrdlock(glibc(r), until);
		return ol_run_real.rwlock_clockrdlock(glibc(r), clock, until);
	}
	return acquire(r, read_until, clock, until);
}

int ol_run_rwlock_tryread(struct rwlock *r)
{
	struct ol_call c;

	if (is_glibc(r)) {
		count_glibc(r);
		return ol_run_real.rwlock_tryrdlock(glibc(r));
	}
	be_of_this_epoch(r);
	begin(&c, r);
	return end(&c, try_read(r));
}

int ol_run_rwlock_write(struct rwlock *r)
{
	if (is_glibc(r)) {
		count_glibc(r);
		return ol_run_real.rwlock_wrlock(glibc(r));
	}
	return acquire(r, write_until, CLOCK_MONOTONIC, 0);
}

int ol_run_rwlock_timedwrite(struct rwlock *r, clockid_t clock, const struct timespec *until)
{
	if (is_glibc(r)) {
		count_glibc(r);
		if (clock == CLOCK_REALTIME)
			return ol_run_real.rwlock_timedwrlock(glibc(r), until);
		return ol_run_real.rwlock_clockwrlock(glibc(r), clock, until);
	}
	return acquire(r, write_until, clock, until);
}

int ol_run_rwlock_trywrite(struct rwlock *r)
{
	struct ol_call c;

	if (is_glibc(r)) {
		count_glibc(r);
		return ol_run_real.rwlock_trywrlock(glibc(r));
	}
	be_of_this_epoch(r);
	begin(&c, r);
	return end(&c, try_write(r));
}

/* While somebody writes nobody reads, so the word says which of the two we did. */
int ol_run_rwlock_unlock(struct rwlock *r)
{
	if (is_glibc(r))
		return ol_run_real.rwlock_unlock(glibc(r));
	be_of_this_epoch(r);
	count_release(r);
	if (ol_load_relaxed(&r->lock.count) & OL_QRW_HELD) {
		ol_store_relaxed(&r->owner, 0u);
		ol_qrw_unlock(&r->lock);
	} else {
		ol_qrw_read_unlock(&r->lock);
	}
	return 0;
}

/* glibc reads the attributes, and leaves all zero but for the kind and the sharing. */
/* glibc reads the attributes, and must keep them where we look for them, and nothing elsewhere. */
void ol_run_rwlocks_start(void)
{
	const int kind = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
	const struct rwlock expected = { .shared = 1, .flags = (uint32_t)kind };
	pthread_rwlockattr_t attr;
	pthread_rwlock_t made;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_rwlockattr_setkind_np(&attr, kind);
	ol_run_real.rwlock_init(&made, &attr);
	if (memcmp(&made, &expected, sizeof(expected)) != 0)
		ol_run_refuse("pthread_rwlock_init",
			      "this glibc keeps an rwlock's attributes in an "
			      "unknown way; run without --rwlock");
}

int ol_run_rwlock_init(struct rwlock *r, const pthread_rwlockattr_t *attr)
{
	if (!attr && rwlock_ops()) {
		memset(r, 0, sizeof(pthread_rwlock_t));
		return 0;
	}
	ol_run_start(); /* for `ol_run_real` */
	return ol_run_real.rwlock_init(glibc(r), attr);
}

int ol_run_rwlock_destroy(struct rwlock *r)
{
	return is_glibc(r) ? ol_run_real.rwlock_destroy(glibc(r)) : 0;
}
