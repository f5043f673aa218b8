/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_BYTE_H
#define OL_BYTE_H
/*
 * Unfair byte lock. Long, "Unfair Queued Spinlocks" (slides): the fallback of a Linux guest whose
 * hypervisor offers no paravirtual lock.
 *
 * A test-and-test-and-set lock in the low byte of the word, taken by compare-exchange. The lock
 * never accesses the other three bytes, so they may hold other data.
 *
 *  locked: 1 held, 0 free
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_byte {
	uint8_t locked;
	uint8_t free[3];
} __attribute__((aligned(4))) ol_byte_t;

#define OL_BYTE_INIT	{ 0, { 0, 0, 0 } }

static inline bool ol_byte_is_locked(const ol_byte_t *l)
{
	return ol_load_relaxed(&l->locked) != 0;
}

/* The byte does not show waiters. */
static inline bool ol_byte_is_contended(const ol_byte_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_byte_trylock(ol_byte_t *l)
{
	return !ol_load_relaxed(&l->locked) && ol_cas_acquire(&l->locked, 0, 1); /* [A] */
}

#define OL_POLLED ol_byte
#include <overlock/lock/impl/poll.h>

static inline bool ol_byte_timedlock(ol_byte_t *l, ol_ticks_t until)
{
	return ol_byte_trylock(l) || ol_byte_poll_until(l, until);
}

/* The lock is usually free, so only the later compare-exchanges are preceded by a load. */
static inline void ol_byte_lock(ol_byte_t *l)
{
	if (ol_cas_acquire(&l->locked, 0, 1)) /* [A] */
		return;
	ol_byte_poll(l);
}

static inline void ol_byte_unlock(ol_byte_t *l)
{
	ol_store_release(&l->locked, (uint8_t)0); /* [R] */
}
#endif
