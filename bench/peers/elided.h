/* SPDX-License-Identifier: MIT */
#ifndef OL_ELIDED_H
#define OL_ELIDED_H
/*
 * The usual way to elide a lock, which Long argues against: the transaction reads the lock word. So
 * a context that takes the lock, since its transaction failed, aborts all the others. To measure beside Long's
 * own, here and on the engine's transactions.
 *
 *  word: 0 free, and in a transaction of its own; 1 held. That is how a release knows which it ends.
 *  It does not nest: a holder would wait for itself.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. A transaction reads the word, so it
 *  comes as a whole before the next [A], and after the [R] that it read from.
 */
#include <overlock/port.h>

#define OL_LOCK_LINE								\
	OL_LOCK(elided, waits, OL_ELIDES, "long",				\
		"test-and-set; sections run as transactions (RTM) that read the lock word")

typedef struct ol_elided {
	uint32_t word;
} OL_OWN_LINE ol_elided_t;

static inline bool ol_elided_is_locked(const ol_elided_t *l)
{
	return ol_htm_active() || ol_load_relaxed(&l->word);
}

static inline bool ol_elided_is_contended(const ol_elided_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_elided_take(ol_elided_t *l)
{
	return !ol_load_relaxed(&l->word) && !ol_xchg_acquire(&l->word, 1u); /* [A] */
}

/* Never elides. In a transaction the lock may be our own: its section falls back, and we come again. */
static inline bool ol_elided_trylock(ol_elided_t *l)
{
	if (ol_htm_active())
		ol_htm_abort();
	return ol_elided_take(l);
}

/* In a transaction that has seen the lock free; false: it was aborted. */
static inline bool ol_elided_begin(ol_elided_t *l)
{
	unsigned status;

	while (ol_load_relaxed(&l->word))
		ol_relax();
	ol_count(OL_TX_START);
	status = ol_htm_begin();
	if (status == OL_HTM_STARTED) {
		if (!ol_load_relaxed(&l->word))
			return true;
		ol_htm_abort();
	}
	ol_htm_count_abort(status);
	return false;
}

static inline void ol_elided_lock(ol_elided_t *l)
{
	for (uint64_t tries = 0; ol_htm_works() && tries <= ol_tune(tx_retries); tries++)
		if (ol_elided_begin(l))
			return;
	ol_count(OL_TX_FALLBACK);
	if (ol_elided_take(l))
		return;
	ol_count(OL_SLOW_PATH);
	while (!ol_elided_take(l))
		ol_relax();
}

static inline void ol_elided_unlock(ol_elided_t *l)
{
	if (ol_load_relaxed(&l->word)) {
		ol_store_release(&l->word, 0u); /* [R] */
		return;
	}
	ol_htm_commit();
	ol_count(OL_TX_COMMIT);
}
#endif
