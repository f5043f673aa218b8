/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PV_BYTE_H
#define OL_PV_BYTE_H
/*
 * Paravirtual byte lock of Xen in 2008. Rao & Dunlap 2012, "Fixes to the vCPU starvation".
 *
 * Waiters spin for `spin`, then record the lock they wait on and block. The release walks the
 * records and wakes the first waiter of this lock. The platform keeps the records (ol_park), so the
 * lock needs no list. A running context may take the lock before the woken waiter does; if that
 * waiter then loses its CPU, the others sleep until it is back or another release wakes them.
 *
 *   31                     9  8  7                     1  0
 *  +-----------------------+--+-----------------------+--+
 *  |           0           |S |           0           |H |	S: some waiter may be blocked
 *  +-----------------------+--+-----------------------+--+	H: held
 *
 *  S is set only by a compare-exchange that sees H, so S implies H. It is a flag because a count
 *  would change the word while waiters are about to block, and release would have to read it later.
 *  Release exchanges the word for 0 and kicks one waiter if it gets S back. This clears the flag
 *  although others may sleep. So a waiter that has slept, and so may have been kicked, restores it:
 *  it takes the lock with S set, blocks again with S set, or kicks the next one when it gives up.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [S] and [R] are
 *  read-modify-writes of one word: either the release returns the flag, or [S] fails.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_pv_byte {
	uint32_t word;
} ol_pv_byte_t;

#define OL_PV_BYTE_INIT		{ 0 }
#define OL_PVB_HELD		1u
#define OL_PVB_SLEEPERS		0x100u

static inline bool ol_pv_byte_is_locked(const ol_pv_byte_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

/* The flag shows that a waiter sleeps or slept, not that one spins or has given up. */
static inline bool ol_pv_byte_is_contended(const ol_pv_byte_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_pv_byte_trylock(ol_pv_byte_t *l)
{
	return !ol_load_relaxed(&l->word) && ol_cas_acquire(&l->word, 0u, OL_PVB_HELD); /* [A] */
}

/* Wakes the first sleeper, which takes care of the others. */
static OL_COLD void ol_pvb_kick(const uint32_t *word)
{
	ol_count(OL_KICK);
	ol_kick(word, OL_ANY, 1);
}

/* Blocks while the lock stays as in `w`, held. Returns the flag if we may have been kicked. */
static inline uint32_t ol_pvb_sleep(ol_pv_byte_t *l, uint32_t w, ol_ticks_t until)
{
	uint32_t flagged = w | OL_PVB_SLEEPERS;

	if (flagged != w && !ol_cas_relaxed(&l->word, w, flagged)) /* [S] */
		return 0;
	ol_count(OL_PARK);
	ol_park(&l->word, flagged, OL_ANY, until);
	return OL_PVB_SLEEPERS;
}

static OL_COLD bool ol_pv_byte_lock_slow(ol_pv_byte_t *l, ol_ticks_t until)
{
	ol_ticks_t tired = ol_after(1, ol_tune(spin));
	uint32_t slept = 0; /* the flag, once we may have been kicked */

	ol_count(OL_SLOW_PATH);
	for (;;) {
		uint32_t w = ol_load_relaxed(&l->word);

		if (!w && ol_cas_acquire(&l->word, 0u, OL_PVB_HELD | slept)) /* [A] */
			return true;
		if (w && ol_passed(tired)) {
			slept |= ol_pvb_sleep(l, w, until);
			tired = ol_after(1, ol_tune(spin));
			if (!ol_passed(until))
				continue; /* check first: the lock may be free by now */
		}
		if (ol_passed(until))
			break;
		ol_relax_until(ol_earlier(tired, until));
	}
	if (slept)
		ol_pvb_kick(&l->word);
	return false;
}

static inline bool ol_pv_byte_timedlock(ol_pv_byte_t *l, ol_ticks_t until)
{
	return ol_pv_byte_trylock(l) || ol_pv_byte_lock_slow(l, until);
}

static inline void ol_pv_byte_lock(ol_pv_byte_t *l)
{
	if (OL_UNLIKELY(!ol_pv_byte_trylock(l)))
		ol_pv_byte_lock_slow(l, OL_NEVER);
}

static inline void ol_pv_byte_unlock(ol_pv_byte_t *l)
{
	if (OL_UNLIKELY(ol_xchg_release(&l->word, 0u) & OL_PVB_SLEEPERS)) /* [R] */
		ol_pvb_kick(&l->word);
}
#endif
