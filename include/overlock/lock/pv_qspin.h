/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PV_QSPIN_H
#define OL_PV_QSPIN_H
/*
 * Paravirtual queued spinlock: halt and kick. Long, Zijlstra: Linux 4.2; Long (slides).
 *
 * The queued spinlock, but waiters spin for `spin` and then park: the first waiter on the lock, the
 * others on their own nodes. The pending byte is not used, for its waiter would have no node to
 * sleep on. Parking is by address, so a release needs no table of sleepers.
 *
 *   31	      16 15	   0
 *  +------------+----------+	lock: 0 free, 1 held, 3 held and the first waiter may sleep
 *  |	 tail	 |   lock   |	tail and queue: see queued.h
 *  +------------+----------+	node.wait: 0 is first, 1 waits, 2 waits and may sleep
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [T] [L] [F] [H]: see queued.h.
 *  [S] with [R], and [P] with [H], are read-modify-writes of one word: either the context that
 *  releases the waiter gets the flag back, and kicks, or the waiter sees that it may go on.
 */
#include <overlock/lock/impl/queued.h>

typedef struct OL_CAPABILITY ol_pv_qspin {
	uint32_t word;
} ol_pv_qspin_t;

#define OL_PV_QSPIN_INIT	{ 0 }
#define OL_PVQ_SLEEPER		3u /* in the lock half: held, and the first waiter may sleep */
#define OL_PVQ_FIRST		0u /* in a node's `wait` */
#define OL_PVQ_WAITS		1u
#define OL_PVQ_SLEEPS		2u

static inline bool ol_pv_qspin_is_locked(const ol_pv_qspin_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

static inline bool ol_pv_qspin_is_contended(const ol_pv_qspin_t *l)
{
	return ol_load_hi_relaxed(&l->word) != 0;
}

static inline bool ol_pv_qspin_trylock(ol_pv_qspin_t *l)
{
	return ol_queued_trylock(&l->word);
}

static inline bool ol_pv_qspin_timedlock(ol_pv_qspin_t *l, ol_ticks_t until)
{
	return ol_queued_poll(&l->word, until);
}

/* Spin until none of these bits is set; false when the time is up. */
static inline bool ol_pvq_spin(const uint32_t *word, uint32_t bits)
{
	ol_ticks_t tired = ol_after(1, ol_tune(spin));

	while (ol_load_acquire(word) & bits) { /* [A] [H] */
		if (ol_passed(tired))
			return false;
		ol_relax_until(tired);
	}
	return true;
}

/* Sleep on `word` while it is `seen`. */
static inline void ol_pvq_sleep(const uint32_t *word, uint32_t seen)
{
	ol_count(OL_PARK);
	ol_park(word, seen, OL_ANY, OL_NEVER);
}

/* Not inlined. The memory may be reused by now; only its address is used. */
static OL_COLD void ol_pvq_kick(const uint32_t *word)
{
	ol_count(OL_KICK);
	ol_kick(word, OL_ANY, 1);
}

static inline void ol_pvq_await_first(struct ol_node *mine)
{
	while (!ol_pvq_spin(&mine->wait, ~0u)) {
		(void)ol_cas_relaxed(&mine->wait, OL_PVQ_WAITS, OL_PVQ_SLEEPS); /* [P] */
		ol_pvq_sleep(&mine->wait, OL_PVQ_SLEEPS);
	}
}

/* The first waiter waits here; a context that joins meanwhile cuts its sleep short. */
static inline void ol_pvq_take(ol_pv_qspin_t *l)
{
	while (!ol_pvq_spin(&l->word, 0xffffu)) {
		(void)ol_cas_lo_relaxed(&l->word, OL_Q_LOCKED, OL_PVQ_SLEEPER); /* [S] */
		ol_pvq_sleep(&l->word, ol_word(ol_load_hi_relaxed(&l->word), OL_PVQ_SLEEPER));
	}
	ol_store_lo_relaxed(&l->word, OL_Q_LOCKED);
}

static inline void ol_pvq_queue(ol_pv_qspin_t *l, struct ol_node *mine)
{
	struct ol_node *next;

	if (ol_queued_join(&l->word, mine))
		ol_pvq_await_first(mine);
	ol_pvq_take(l);
	next = ol_queued_after(&l->word, mine, 0);
	if (next && ol_xchg_release(&next->wait, OL_PVQ_FIRST) == OL_PVQ_SLEEPS) /* [H] */
		ol_pvq_kick(&next->wait);
	ol_node_put(mine);
}

static OL_COLD void ol_pv_qspin_lock_slow(ol_pv_qspin_t *l)
{
	struct ol_node *mine = ol_named_node_get();

	ol_count(OL_SLOW_PATH);
	if (mine) {
		ol_pvq_queue(l, mine);
		return;
	}
	ol_count(OL_NO_ID);
	ol_queued_poll(&l->word, OL_NEVER);
}

static inline void ol_pv_qspin_lock(ol_pv_qspin_t *l)
{
	if (OL_UNLIKELY(!ol_queued_trylock(&l->word)))
		ol_pv_qspin_lock_slow(l);
}

static inline void ol_pv_qspin_unlock(ol_pv_qspin_t *l)
{
	if (OL_UNLIKELY(ol_xchg_lo_release(&l->word, 0) == OL_PVQ_SLEEPER)) /* [R] */
		ol_pvq_kick(&l->word);
}
#endif
