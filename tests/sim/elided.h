/* SPDX-License-Identifier: MIT */
#ifndef OL_ELIDED_H
#define OL_ELIDED_H
/*
 * The usual way to elide a lock, which 003 argues against: the transaction reads the lock word. So
 * whoever takes the lock, since its transaction failed, aborts all the others.
 */
#include <overlock/port.h>

#define OL_LOCK_LINE                                                                               \
    OL_LOCK(elided, waits, OL_ELIDES, "003", "elided, with the lock in the read set")

typedef struct ol_elided {
    uint32_t word;
} OL_OWN_LINE ol_elided_t;

static inline bool ol_elided_is_locked(const ol_elided_t *l) {
    return ol_htm_active() || ol_load_relaxed(&l->word);
}

static inline bool ol_elided_is_contended(const ol_elided_t *l) {
    (void)l;
    return false;
}

static inline bool ol_elided_trylock(ol_elided_t *l) {
    return !ol_load_relaxed(&l->word) && !ol_xchg_acquire(&l->word, 1u);
}

static inline void ol_elided_count_abort(unsigned status) {
    ol_count(status & OL_HTM_EXPLICIT   ? OL_TX_EXPLICIT
             : status & OL_HTM_CAPACITY ? OL_TX_CAPACITY
             : status & OL_HTM_CONFLICT ? OL_TX_CONFLICT
                                        : OL_TX_OTHER);
}

static inline void ol_elided_lock(ol_elided_t *l) {
    for (uint64_t tries = 0; ol_htm_works() && tries <= ol_tune(tx_retries); tries++) {
        unsigned status;

        while (ol_load_relaxed(&l->word))
            ol_relax();
        ol_count(OL_TX_START);
        status = ol_htm_begin();
        if (status == OL_HTM_STARTED) {
            if (!ol_load_relaxed(&l->word))
                return;
            ol_htm_abort();
        }
        ol_elided_count_abort(status);
    }
    ol_count(OL_TX_FALLBACK);
    while (!ol_elided_trylock(l))
        ol_relax();
}

static inline void ol_elided_unlock(ol_elided_t *l) {
    if (!ol_htm_active()) {
        ol_store_release(&l->word, 0u);
        return;
    }
    ol_htm_commit();
    ol_count(OL_TX_COMMIT);
}
#endif
