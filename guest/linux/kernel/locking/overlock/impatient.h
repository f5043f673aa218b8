/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OVERLOCK_IMPATIENT_H
#define OVERLOCK_IMPATIENT_H
/*
 * A lock with a mistake that only a preempted holder shows: a waiter that has seen the same holder
 * for long takes the lock from it, as if it had died. No critical section is that long, unless its
 * CPU is taken away. A test of spinlocks in virtual machines must find it; for a kernel that may
 * crash.
 */
#include <overlock/port.h>

typedef struct ol_impatient {
	uint32_t word; /* 0: free; else the holder's stamp */
} ol_impatient_t;

/* Longer than the 100 ms for which locktorture holds a lock now and then, on a busy host. */
#define OL_IMPATIENT_NS	500000000ull

static inline uint32_t ol_impatient_stamp(void)
{
	return (uint32_t)ol_now() | 1;
}

static inline bool ol_impatient_is_locked(const ol_impatient_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

static inline bool ol_impatient_is_contended(const ol_impatient_t *l)
{
	return false;
}

static inline bool ol_impatient_trylock(ol_impatient_t *l)
{
	return !ol_load_relaxed(&l->word) && ol_cas_acquire(&l->word, 0, ol_impatient_stamp());
}

static inline void ol_impatient_lock(ol_impatient_t *l)
{
	ol_ticks_t until = OL_NEVER;
	uint32_t seen = 0;

	while (!ol_impatient_trylock(l)) {
		uint32_t now = ol_load_relaxed(&l->word);

		if (now != seen)
			until = ol_after(1, OL_IMPATIENT_NS);
		seen = now;
		if (now && ol_passed(until) && ol_cas_acquire(&l->word, now, ol_impatient_stamp()))
			return;
		ol_relax();
	}
}

static inline void ol_impatient_unlock(ol_impatient_t *l)
{
	ol_store_release(&l->word, 0);
}
#endif
