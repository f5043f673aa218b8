/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_MALTHUSIAN_H
#define EXAMPLES_MALTHUSIAN_H
/*
 * Malthusian MCS lock: MCS that lets only as many contexts circulate as keep the lock busy.
 * Dice: Malthusian Locks, EuroSys 2017 (MCSCR-STP); in the form of overlock/lock/mcs.h. For `overlock bench`:
 *
 *	overlock bench matrix -o results --loads all --baseline rota --locks rota,peers,examples/malthusian.h
 *
 * If two or more wait, a release moves the first waiter to the list of the passive, and hands the lock to the
 * second. If nobody waits, it hands the lock to the last that became passive. At random, once in a thousand
 * releases, it hands the lock to the one that has been passive for longest, so that nobody stays there for ever.
 * Waiters spin for `spin`, then park. A hand-over to a waiter without a CPU waits for that CPU.
 *
 *  tail, next: as in mcs.h
 *  passive: the last that became passive; its `next` became so before it. Only the holder uses it.
 *  luck: the state of a generator of pseudo-random numbers; only the holder uses it.
 *
 *  Pairing: as in mcs.h. [P] and the release [R] are read-modify-writes of a node's `wait`: either the
 *  release gets the flag back and kicks, or the waiter sees that it is served.
 */
#include <overlock/port.h>

#define OL_LOCK_LINE	\
	OL_LOCK(malthusian, waits, OL_PRIVATE | OL_YIELDS | OL_NEEDS_NODES | OL_NEEDS_PARK | OL_NEEDS_TIME, "Dice 2017", \
		"MCS queue lock that culls its surplus waiters")

typedef struct OL_CAPABILITY ol_malthusian {
	struct ol_node *tail;
	struct ol_node *next;
	struct ol_node *passive;
	uint32_t luck;
} ol_malthusian_t;

#define OL_MALTHUSIAN_INIT	{ 0, 0, 0, 0 }
#define OL_MALT_WAITS		1u
#define OL_MALT_SLEEPS		2u
#define OL_MALT_ELDEST		1000u /* the paper's chance of the eldest: once in so many releases */

/* Stands for the holder: a mark that is no context's node and is never dereferenced. */
static inline struct ol_node *ol_malt_here(ol_malthusian_t *l)
{
	return (struct ol_node *)(void *)l;
}

static inline bool ol_malthusian_is_locked(const ol_malthusian_t *l)
{
	return ol_load_relaxed(&l->tail) != (struct ol_node *)0;
}

static inline bool ol_malthusian_is_contended(const ol_malthusian_t *l)
{
	struct ol_node *tail = ol_load_relaxed(&l->tail);

	return tail &&
	       (tail != (const struct ol_node *)(const void *)l || ol_load_relaxed(&l->passive));
}

static inline bool ol_malthusian_trylock(ol_malthusian_t *l)
{
	return !ol_load_relaxed(&l->tail) &&
	       ol_cas_acquire(&l->tail, (struct ol_node *)0, ol_malt_here(l)); /* [A] */
}

/* Waiting. */

static inline bool ol_malt_spin(const struct ol_node *mine)
{
	ol_ticks_t tired = ol_after(1, ol_tune(spin));

	while (ol_load_acquire(&mine->wait)) { /* [A] */
		if (ol_passed(tired))
			return false;
		ol_relax_until(tired);
	}
	return true;
}

static inline void ol_malt_wait(struct ol_node *mine)
{
	while (!ol_malt_spin(mine)) {
		(void)ol_cas_relaxed(&mine->wait, OL_MALT_WAITS, OL_MALT_SLEEPS); /* [P] */
		ol_count(OL_PARK);
		ol_park(&mine->wait, OL_MALT_SLEEPS, OL_ANY, OL_NEVER);
	}
}

/* The waiter that took the tail after us is about to link itself here. */
static OL_COLD struct ol_node *ol_malt_await_link(struct ol_node **next)
{
	struct ol_node *node;

	while (!(node = ol_load_acquire(next))) /* [F] */
		ol_relax_briefly();
	return node;
}

/* We hold the lock: copy our link from the node to the lock. */
static inline void ol_malt_settle(ol_malthusian_t *l, struct ol_node *mine)
{
	struct ol_node *after = ol_load_acquire(&mine->next); /* [F] */

	if (!after) {
		ol_store_relaxed(&l->next, (struct ol_node *)0);
		if (ol_cas_release(&l->tail, mine, ol_malt_here(l))) /* [T] shows the zero above */
			return;
		after = ol_malt_await_link(&mine->next);
	}
	ol_store_relaxed(&l->next, after);
}

static inline void ol_malt_queue(ol_malthusian_t *l, struct ol_node *mine)
{
	struct ol_node *ahead;

	ol_store_relaxed(&mine->next, (struct ol_node *)0);
	ol_store_relaxed(&mine->wait, OL_MALT_WAITS);
	ahead = ol_xchg_acq_rel(&l->tail, mine); /* [A] [T] */
	if (ahead) {
		ol_store_release(ahead == ol_malt_here(l) ? &l->next : &ahead->next,
				 mine); /* [L] */
		ol_malt_wait(mine);
	}
	ol_malt_settle(l, mine);
}

static OL_COLD void ol_malthusian_lock_slow(ol_malthusian_t *l)
{
	struct ol_node *mine = ol_node_get();

	ol_count(OL_SLOW_PATH);
	if (!mine) {
		ol_count(OL_NO_ID);
		while (!ol_malthusian_trylock(l))
			ol_relax();
		return;
	}
	ol_malt_queue(l, mine);
	ol_node_put(mine);
}

static inline void ol_malthusian_lock(ol_malthusian_t *l)
{
	if (OL_UNLIKELY(!ol_malthusian_trylock(l)))
		ol_malthusian_lock_slow(l);
}

/* Releasing. All but the last act is in our section. */

static inline void ol_malt_serve(struct ol_node *node)
{
	uint32_t *wait = &node->wait;

	if (ol_xchg_release(wait, 0u) == OL_MALT_SLEEPS) { /* [R] */
		ol_count(OL_KICK);
		ol_kick(wait, OL_ANY, 1);
	}
}

/* One release in OL_MALT_ELDEST, at random: a fixed stride might always meet the same context. */
static inline bool ol_malt_is_lucky(ol_malthusian_t *l)
{
	uint32_t luck = ol_load_relaxed(&l->luck) * 1664525u + 1013904223u;

	ol_store_relaxed(&l->luck, luck);
	return luck < UINT32_MAX / OL_MALT_ELDEST;
}

/* Takes the one that has been passive for longest off the list. */
static OL_COLD struct ol_node *ol_malt_eldest(ol_malthusian_t *l)
{
	struct ol_node **at = &l->passive, *node = ol_load_relaxed(at), *after;

	while ((after = ol_load_relaxed(&node->next))) {
		at = &node->next;
		node = after;
	}
	ol_store_relaxed(at, (struct ol_node *)0);
	return node;
}

/* Of the waiters, whose first is `first`, the one to serve; the first of several becomes passive. */
static inline struct ol_node *ol_malt_chosen(ol_malthusian_t *l, struct ol_node *first)
{
	struct ol_node *passive = ol_load_relaxed(&l->passive), *second;

	if (passive && ol_malt_is_lucky(l)) {
		passive = ol_malt_eldest(l);
		ol_store_relaxed(&passive->next, first);
		return passive;
	}
	second = ol_load_acquire(&first->next); /* [F] */
	if (!second)
		return first;
	ol_store_relaxed(&first->next, passive);
	ol_store_relaxed(&l->passive, first);
	return second;
}

/* Nobody waits: frees the lock, or makes a passive one the only waiter. False if somebody came. */
static inline bool ol_malt_leave(ol_malthusian_t *l)
{
	struct ol_node *passive = ol_load_relaxed(&l->passive), *after;

	if (!passive)
		return ol_cas_release(&l->tail, ol_malt_here(l), (struct ol_node *)0); /* [R] */
	after = ol_load_relaxed(&passive->next);
	ol_store_relaxed(&passive->next, (struct ol_node *)0);
	ol_store_relaxed(&l->passive, after);
	if (ol_cas_release(&l->tail, ol_malt_here(l), passive)) { /* [T] */
		ol_malt_serve(passive);
		return true;
	}
	ol_store_relaxed(&passive->next, after);
	ol_store_relaxed(&l->passive, passive);
	return false;
}

static inline void ol_malthusian_unlock(ol_malthusian_t *l)
{
	struct ol_node *first = ol_load_acquire(&l->next); /* [F] */

	if (!first) {
		if (ol_malt_leave(l))
			return;
		first = ol_malt_await_link(&l->next);
	}
	ol_malt_serve(ol_malt_chosen(l, first));
}
#endif
