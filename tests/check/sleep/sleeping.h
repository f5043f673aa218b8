/* SPDX-License-Identifier: MIT */
#ifndef OL_SLEEPING_H
#define OL_SLEEPING_H
/*
 * For the model checker: a lock whose waiters sleep as under `overlock run`, by the text of
 * run/sleepers.h. A header that includes this defines
 *
 *	SLEEPING	the lock, e.g. ticket; the one that is made of it is sleeping_ticket
 *	SLEEPING_TRAITS	of that lock, as far as they matter here
 *	SLEEPING_HEADER	the lock's own header
 *	SLEEPERS	run/sleepers.h, or a mutant of it
 *	SLEEPING_LOOKS	whether a release looks at the gate before it unlocks, as it does in sleep.c. Then it
 *			may miss a sleeper, which the checker finds; so there all sleep is timed. Else each
 *			release goes by the list, and sleep is for ever: what is left to find is wrong
 *			with the list
 *
 * What is modelled beside that text: one poll is in vain, then the time to spin may be over; the gate is
 * a word of one bit.
 */
#include <overlock/port.h>
#undef ol_relax
#undef ol_relax_until
#undef ol_yield
#undef ol_yield_to
#undef ol_relax_briefly
#define ol_relax_briefly()	OL_WORLD.relax(OL_NEVER, OL_PLACE)
#define ol_relax()		sleeping_poll(OL_NEVER)
#define ol_relax_until(t)	sleeping_poll(t)
#define ol_yield()		sleeping_poll(OL_NEVER)
#define ol_yield_to(id)		sleeping_poll(OL_NEVER)
static void sleeping_poll(ol_ticks_t until);

#include SLEEPING_HEADER
#include <overlock/ops.h>

#define JOIN_(a, b)	a##b
#define JOIN(a, b)	JOIN_(a, b)
#define INNER(name)	JOIN(JOIN(ol_, SLEEPING), name)
#define OUTER(name)	JOIN(JOIN(ol_sleeping_, SLEEPING), name)
#define TEXT_(a)	#a
#define TEXT(a)		TEXT_(a)

enum { RELAYS = 3, CONTEXTS = 4 };
static const uint32_t ol_run_epoch = 0;

#include "../../../run/wait.h"

struct bucket {
	uint32_t taken;
	struct wait *first, *last;
};

struct mutex {
	INNER(_t) lock;
	uint32_t gate;
	struct bucket bucket;
	struct wait waits[CONTEXTS + 1]; /* by id: a context's stack is not for others to see */
};

static struct mutex *waiting[CONTEXTS + 1]; /* by id; what thread-local storage has */

static struct bucket *enter(struct mutex *m)
{
	while (ol_xchg_acquire(&m->bucket.taken, 1u))
		OL_WORLD.relax(OL_NEVER, OL_PLACE);
	return &m->bucket;
}

static void leave(struct bucket *b)
{
	ol_store_release(&b->taken, 0u);
}

void ol_run_gate_set_sleepers(struct mutex *m, bool any)
{
	ol_xchg_acq_rel(&m->gate, any ? 1u : 0u);
}

#include SLEEPERS

/* As polled() of sleep.c. */
static void sleeping_poll(ol_ticks_t until)
{
	struct wait *w = &waiting[ol_self()]->waits[ol_self()];

	(void)until;
	if (!w->looked) {
		OL_WORLD.relax(w->due, OL_PLACE);
		w->looked = ol_passed(w->due);
	} else if (!is_listed(w) || ol_load_relaxed(&w->state) != ASLEEP) {
		lie_down(w);
	} else {
		ol_park(&w->state, (uint32_t)ASLEEP, OL_ANY, OL_NEVER);
	}
}

static void sleeping_unlock(void *l)
{
	INNER(_unlock)(static_cast<INNER(_t) *>(l));
}

static struct ol_lock_ops sleeping_ops()
{
	struct ol_lock_ops ops = {};

	ops.traits = SLEEPING_TRAITS;
	ops.unlock = sleeping_unlock;
	return ops;
}
static const struct ol_lock_ops sleeping_inner = sleeping_ops();

typedef struct mutex OUTER(_t);

#define OL_LOCK_LINE								\
	OL_LOCK(JOIN(sleeping_, SLEEPING), waits, SLEEPING_TRAITS, "run/sleep.c", TEXT(SLEEPING))

static inline bool OUTER(_is_locked)(const struct mutex *m)
{
	return INNER(_is_locked)(&m->lock);
}

static inline bool OUTER(_is_contended)(const struct mutex *m)
{
	return INNER(_is_contended)(&m->lock);
}

static inline bool OUTER(_trylock)(struct mutex *m)
{
	return INNER(_trylock)(&m->lock);
}

static inline void OUTER(_lock)(struct mutex *m)
{
	struct wait *w;

	if (OUTER(_trylock)(m))
		return;
	w = &m->waits[ol_self()];
	*w = {};
	w->mutex = m;
	w->ops = &sleeping_inner;
	w->due = ol_after(1, ol_tune(spin));
	waiting[ol_self()] = m;
	INNER(_lock)(&m->lock);
	if (is_listed(w))
		get_up(w);
}

static inline void OUTER(_unlock)(struct mutex *m)
{
	if (!SLEEPING_LOOKS || ol_load_relaxed(&m->gate))
		unlock_and_wake(m, &sleeping_inner, &m->lock);
	else
		INNER(_unlock)(&m->lock);
}
#endif
