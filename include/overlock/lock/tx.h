/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_TX_H
#define OL_TX_H
/*
 * Transactional spinlock. Long: Kernel Transactional Spinlocks (slides, second half). Its queue is
 * preemptable: Ouyang & Lange 2013, section 4.
 *
 * A critical section runs as a transaction under the read lock of a queued rwlock. If it cannot, it
 * drops the read lock and runs under the write lock. So a fallback waits for the transactions of
 * others and does not abort them, as it would if it took a lock word that they had read.
 *
 *   lock	     holder
 *  +---------------+--------+-------+
 *  | queued rwlock |	id   | depth |	id: the writer's	depth: of its nesting, minus 1
 *  +---------------+--------+-------+
 *
 *  Long uses Linux's rwlock, whose queue is FIFO: a preempted waiter stops all sections for a time
 *  slice. Here the n-th waiter is due after n * tau at most, even out of order. A due waiter
 *  competes for `count` and sets W, which keeps out contexts that have not waited. The first waiter
 *  to enter clears W, and any other due waiter sets it again. So a due waiter without a CPU costs
 *  the next one tau. While W is clear, a new section may enter the free lock ahead of the queue:
 *  FIFO order begins when the first waiter sets W.
 *
 *  Transactions do not access these words, so the lock has its own cache line. Only the context
 *  itself knows that it is in a transaction, and of which lock: ol_htm_owner().
 *
 *  The same lock nests: an inner section is part of the outer one (not under the write lock for a
 *  context without an id). Taking another lock aborts, for its writer may be half done; the outer
 *  section falls back. A section may run more than once, and must end in the context that began it.
 *  A commit precedes the release of the read lock: call ol_tx_lock_non() before freeing the lock.
 *
 *  Pairing: as in the rwlock. The queue is relaxed: it decides when a waiter competes. Exclusion
 *  rests on `count` alone. Every change of `count` is a read-modify-write, so W does not end a
 *  release sequence. `holder` orders nothing: a context that finds its own id there has stored it.
 */
#include <overlock/lock/preemptable_ticket.h>
#include <overlock/lock/qrw.h>

typedef struct OL_CAPABILITY ol_tx {
	ol_qrw_t lock;
	uint32_t holder;
} OL_OWN_LINE ol_tx_t;

#define OL_TX_INIT	{ OL_QRW_INIT, 0 }
#define OL_TX_TICKET	1u /* in either half of the queue's word, which has no flags */

/* Transactions: an abort undoes everything since begin, and begin returns again. */
static inline bool ol_tx_is_elided(const ol_tx_t *l)
{
	return ol_htm_owner() == (const void *)l;
}

/* Called with the read lock; keeps it if true. False: run under the write lock. */
static inline bool ol_tx_begin(ol_tx_t *l, uint64_t retries)
{
	unsigned status;

	for (;; ol_count(OL_TX_RETRY)) {
		ol_count(OL_TX_START);
		status = ol_htm_begin();
		if (status == OL_HTM_STARTED) {
			ol_htm_set_owner(l);
			return true;
		}
		ol_htm_count_abort(status);
		if (!retries-- || (status & (OL_HTM_EXPLICIT | OL_HTM_CAPACITY)))
			break;
	}
	ol_qrw_read_unlock(&l->lock);
	return false;
}

static inline void ol_tx_commit(ol_tx_t *l)
{
	ol_htm_commit();
	if (ol_htm_active()) /* that was an inner section */
		return;
	ol_htm_set_owner((const void *)0);
	ol_count(OL_TX_COMMIT);
	ol_qrw_read_unlock(&l->lock);
}

/*
 * One try of a due waiter. While W is set, a due reader does not join other readers, and neither
 * does a new one: else readers that overlap could keep a writer out for ever.
 */
static inline bool ol_tx_compete(uint32_t *count, uint32_t side)
{
	uint32_t w = ol_load_relaxed(count), inside = w & ~OL_QRW_WAITING;

	if (!inside || (side == OL_QRW_READER && !(w & OL_QRW_BARS)))
		return ol_cas_acquire(count, w, inside + side); /* [A]; clears W */
	if (w == inside)
		ol_or_relaxed(count, OL_QRW_WAITING); /* only a hint: there is a due waiter */
	return false;
}

/* Relaxed: see above. Leaving is atomic, for two readers may leave at the same time. */
static OL_COLD void ol_tx_wait(ol_tx_t *l, uint32_t side)
{
	uint32_t *line = &l->lock.line.word;
	uint32_t w = ol_add_hi_relaxed(line, OL_TX_TICKET);
	uint16_t mine = ol_hi(w);

	ol_count(OL_SLOW_PATH);
	ol_count_at(OL_QUEUE, (uint16_t)(mine - ol_lo(w)));
	ol_pt_queue(line, mine, OL_TX_TICKET, OL_NEVER);
	while (!ol_tx_compete(&l->lock.count, side))
		ol_relax();
	ol_add_lo_relaxed(line, OL_TX_TICKET);
}

/* Ignores the queue, as in Linux: the first waiter may have no CPU; a running one sets W. */
static inline bool ol_tx_write_trylock(ol_tx_t *l)
{
	return !ol_load_relaxed(&l->lock.count) &&
	       ol_cas_acquire(&l->lock.count, 0u, OL_QRW_HELD); /* [A] */
}

static inline void ol_tx_hold(ol_tx_t *l) /* we have the write lock */
{
	ol_count(OL_TX_FALLBACK);
	ol_store_relaxed(&l->holder, ol_word((uint16_t)ol_self(), 0));
}

static inline void ol_tx_unhold(ol_tx_t *l)
{
	uint32_t holder = ol_load_relaxed(&l->holder);

	ol_store_relaxed(&l->holder, ol_lo(holder) ? holder - 1u : 0u);
	if (!ol_lo(holder))
		ol_qrw_unlock(&l->lock);
}

/* For other contexts, a lock that only transactions use looks free. */
static inline bool ol_tx_is_locked(const ol_tx_t *l)
{
	return ol_tx_is_elided(l) || (ol_load_relaxed(&l->lock.count) & OL_QRW_HELD);
}

static inline bool ol_tx_is_contended(const ol_tx_t *l)
{
	return !ol_tx_is_elided(l) && ol_qrw_is_contended(&l->lock);
}

static inline bool ol_tx_is_held(const ol_tx_t *l) /* by this context */
{
	uint32_t holder = ol_load_relaxed(&l->holder);

	return holder && ol_hi(holder) == ol_self();
}

static inline void ol_tx_lock_non(ol_tx_t *l) /* never elides */
{
	if (ol_htm_active())
		ol_htm_abort();
	if (ol_tx_is_held(l)) {
		ol_store_relaxed(&l->holder, ol_load_relaxed(&l->holder) + 1u);
		return;
	}
	if (OL_UNLIKELY(!ol_tx_write_trylock(l)))
		ol_tx_wait(l, OL_QRW_HELD);
	ol_tx_hold(l);
}

/* Tries a transaction once, and `retries` times more. */
static inline void ol_tx_lock_retry(ol_tx_t *l, uint64_t retries)
{
	if (ol_tx_is_elided(l) && ol_htm_begin()) /* counts how deep */
		return;
	if (ol_htm_works() && !ol_htm_active() && !ol_tx_is_held(l)) {
		if (OL_UNLIKELY(!ol_qrw_read_trylock(&l->lock)))
			ol_tx_wait(l, OL_QRW_READER);
		if (ol_tx_begin(l, retries))
			return;
	}
	ol_tx_lock_non(l);
}

static inline void ol_tx_lock(ol_tx_t *l)
{
	ol_tx_lock_retry(l, ol_tune(tx_retries));
}

/* Fails for a context that has the lock in either way: only ol_tx_lock*() nests. */
static inline bool ol_tx_trylock(ol_tx_t *l)
{
	if (ol_tx_is_elided(l))
		return false;
	if (ol_htm_active())
		ol_htm_abort();
	if (ol_htm_works() && ol_qrw_read_trylock(&l->lock) && ol_tx_begin(l, ol_tune(tx_retries)))
		return true;
	if (!ol_tx_write_trylock(l))
		return false;
	ol_tx_hold(l);
	return true;
}

static inline void ol_tx_unlock(ol_tx_t *l)
{
	if (ol_tx_is_elided(l))
		ol_tx_commit(l);
	else
		ol_tx_unhold(l);
}
#endif
