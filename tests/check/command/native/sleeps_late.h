/* SPDX-License-Identifier: MIT */
#ifndef OL_SLEEPS_LATE_H
#define OL_SLEEPS_LATE_H
/* The release may come before the waiter looks at what it sleeps by. */
#include <overlock/port.h>

#define OL_LOCK_LINE	OL_LOCK(sleeps_late, waits, (OL_YIELDS | OL_NEEDS_PARK), "mutant", "sleeps_late")

typedef struct ol_sleeps_late {
	uint32_t word, event;
} ol_sleeps_late_t;

static inline bool ol_sleeps_late_is_locked(const ol_sleeps_late_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

static inline bool ol_sleeps_late_is_contended(const ol_sleeps_late_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_sleeps_late_trylock(ol_sleeps_late_t *l)
{
	return ol_cas_acquire(&l->word, 0u, 1u);
}

static inline void ol_sleeps_late_lock(ol_sleeps_late_t *l)
{
	while (!ol_cas_acquire(&l->word, 0u, 1u))
		ol_park(&l->event, ol_load_acquire(&l->event), 1u, OL_NEVER);
}

static inline void ol_sleeps_late_unlock(ol_sleeps_late_t *l)
{
	ol_store_release(&l->word, 0u);
	ol_add_release(&l->event, 1u);
	ol_kick(&l->event, 1u, 1);
}
#endif
