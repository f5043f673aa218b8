/* SPDX-License-Identifier: MIT */
/*
 * The gate: how a caller with a deadline gets a lock that cannot be given up.
 *
 * In the queue of such a lock nobody can leave, so a timed caller does not join it; and by polling
 * it would never find a lock free that is handed from waiter to waiter. Instead it announces itself
 * in the mutex's `gate`, and a holder that releases and sees it leaves the lock locked and puts it
 * on offer. Any announced caller may take the offer, by which the lock is its own.
 *
 *	 63	    32 31 30 29 28     0
 *	+-------------+--+--+--+---------+   O: the lock is held by nobody and on offer
 *	|    epoch    |O |S |Z |announced|   S: the holder had it by an offer
 *	+-------------+--+--+--+---------+   Z: waiters in the lock's queue sleep (sleep.c)
 *
 * No lock is lost: O is set only while somebody is announced, and an announced caller can leave
 * only by an exchange that fails while O is set; a caller that gives up meets the offer there and has the
 * lock after all. The price is that of any queue: an offered lock waits for one of its takers to
 * run, as a ticket waits for its owner.
 *
 * The queue is not starved: a holder that had the lock by an offer (S) hands it to the queue if
 * there is one.
 *
 * A holder may look just before a caller announces itself, and release for good. The caller then
 * finds the lock free, if it looks again: so it polls too, at least once a millisecond.
 *
 * Announcements found in another epoch are those of the parent's threads and count for nothing.
 *
 * Without an announcement a release costs one more load, of a cache line that it owns; for locks whose
 * waiters can give up it costs nothing.
 */
#include "interposer.h"

#define OFFER	  (1u << 31)
#define SERVED	  (1u << 30)
#define SLEEPERS  (1u << 29)
#define ANNOUNCED (SLEEPERS - 1)

/* The word as it is in this epoch. */
static uint64_t look(const struct mutex *m)
{
	uint64_t w = ol_load_relaxed(&m->gate);

	return w >> 32 == ol_run_epoch ? w : (uint64_t)ol_run_epoch << 32;
}

/* Acquire and release: an offer hands the critical section over as an unlock and a lock do. */
static bool change(struct mutex *m, uint64_t from, uint64_t to)
{
	uint64_t w = ol_load_relaxed(&m->gate);

	if (w >> 32 != ol_run_epoch && from == (uint64_t)ol_run_epoch << 32)
		from = w;
	return ol_cas_acq_rel(&m->gate, from, to);
}

static void announce(struct mutex *m)
{
	uint64_t w;

	do {
		w = look(m);
	} while (!change(m, w, w + 1));
}

static bool take_offer(struct mutex *m)
{
	uint64_t w = look(m);

	return (w & OFFER) && change(m, w, ((w - 1) & ~(uint64_t)OFFER) | SERVED);
}

/* False: an offer came in between and we took it. */
static bool give_up(struct mutex *m)
{
	for (;;) {
		uint64_t w = look(m);

		if (take_offer(m))
			return false;
		if (!(w & OFFER) && change(m, w, w - 1))
			return true;
	}
}

/* Holders do not offer what we hold. */
static void leave(struct mutex *m)
{
	uint64_t w;

	do {
		w = look(m);
	} while (!change(m, w, w - 1));
}

static bool try_free(struct mutex *m, const struct ol_lock_ops *ops)
{
	if (ops->is_locked(m->lock))
		return false;
	FOR_CALLER();
	return ops->trylock(m->lock);
}

struct announced {
	struct mutex *mutex;
	const struct ol_lock_ops *ops;
	bool is; /* else the lock is ours, or not wanted any more */
};

/* A handler jumps out of the wait. No handler comes between what changes the gate and what says so. */
static void left(void *arg)
{
	struct announced *a = arg;

	if (a->is && !give_up(a->mutex))
		ol_run_gate_release(a->mutex, a->ops);
}

static void come(struct announced *a)
{
	uint64_t signals = ol_run_block_signals();

	announce(a->mutex);
	a->is = true;
	ol_run_restore_signals(signals);
}

static bool try_both(struct announced *a)
{
	struct mutex *m = a->mutex;
	uint64_t signals;

	if (!(look(m) & OFFER) && a->ops->is_locked(m->lock))
		return false;
	signals = ol_run_block_signals();
	if (take_offer(m)) {
		a->is = false;
	} else if (try_free(m, a->ops)) {
		leave(m);
		a->is = false;
	}
	ol_run_restore_signals(signals);
	return !a->is;
}

static bool give_up_late(struct announced *a)
{
	uint64_t signals = ol_run_block_signals();
	bool gave_up = give_up(a->mutex);

	a->is = false;
	ol_run_restore_signals(signals);
	return gave_up;
}

static bool wait_announced(struct announced *a, ol_ticks_t until)
{
	half_t *gate = low_half(&a->mutex->gate);
	ol_ticks_t tired = ol_after(1, ol_tune(spin));
	uint64_t step_ns = 50000;

	for (;;) {
		uint32_t seen = ol_load_relaxed(gate);

		if (try_both(a))
			return true;
		if (ol_passed(until))
			return !give_up_late(a);
		if (ol_before(ol_now_by_clock(),
			      tired)) { /* ends with a counter that stands still, too */
			ol_relax_until(ol_earlier(tired, until));
			continue;
		}
		ol_park(gate, seen, OL_ANY,
			ol_earlier(ol_after(1, ol_ticks_from_ns(step_ns)), until));
		step_ns = step_ns < 500000 ? 2 * step_ns : 1000000;
	}
}

#ifdef OL_COUNTED
/* An offer passes the lock by: to the counters it is a release and an acquisition all the same. */
void ol_run_count_release(const void *lock, const struct ol_lock_ops *ops)
{
	struct ol_call c;

	ol_release_begin(&c, lock, ops, ol_run_caller);
	ol_release_end(&c);
}
#endif

/* Acquires, or gives up at `until`. */
OL_COLD bool ol_run_gate_wait(struct mutex *m, const struct ol_lock_ops *ops, ol_ticks_t until)
{
	struct announced a = { m, ops, false };
	struct _pthread_cleanup_buffer cleanup;
	bool got;

	ol_run_real.cleanup_push(&cleanup, left, &a);
	come(&a);
	got = wait_announced(&a, until);
	ol_run_real.cleanup_pop(&cleanup, 0);
	return got;
}

bool ol_run_gate_has_sleepers(const struct mutex *m)
{
	return look(m) & SLEEPERS;
}

void ol_run_gate_set_sleepers(struct mutex *m, bool any)
{
	uint64_t w;

	do {
		w = look(m);
	} while (!change(m, w, any ? w | SLEEPERS : w & ~(uint64_t)SLEEPERS));
}

/*
 * For the holder that is about to release: true if there was no need, the lock is on offer. Then the mutex
 * may be gone: the next holder may release it, destroy it and free its memory.
 */
static bool offer(struct mutex *m, const struct ol_lock_ops *ops)
{
	const void *lock = IS_COUNTED ? ol_run_outside_at(m, ops) : 0;
	uint64_t w, next;

	do {
		w = look(m);
		next = w & ~(uint64_t)SERVED;
		if ((w & ANNOUNCED) && !((w & SERVED) && ops->is_contended(m->lock)))
			next |= OFFER;
	} while (!change(m, w, next));
	if (!(next & OFFER))
		return false;
	ol_run_count_release(lock, ops);
	ol_kick(low_half(&m->gate), OL_ANY, 1);
	return true;
}

OL_COLD int ol_run_gate_release(struct mutex *m, const struct ol_lock_ops *ops)
{
	if (!ops->is_locked(m->lock))
		return 0; /* a free one is left as it is */
	if (ol_run_gate_has_sleepers(m) && ol_run_hand_to_realtime(m, ops))
		return 0;
	if ((look(m) & (ANNOUNCED | SERVED)) && offer(m, ops))
		return 0;
	if (ol_run_gate_has_sleepers(m))
		ol_run_sleepers_release(m, ops);
	else
		ops->unlock(m->lock);
	return 0;
}
