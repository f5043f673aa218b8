/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PORT_H
#define OL_PORT_H
/*
 * The platform layer: all that a lock may ask of the world it runs in.
 *
 * A lock includes this file and nothing else. port/user.h, port/linux.h and port/sim.h each give
 * every operation below; docs/adding-a-lock.md says how to write another.
 *
 * Atomics, on 8-, 16-, 32-, 64-bit words and on pointers; the suffix is C11's memory order.
 *
 *	ol_load_{relaxed,acquire}(p)				the value
 *	ol_store_{relaxed,release}(p, v)
 *	ol_xchg_{relaxed,acquire,release,acq_rel}(p, v)		the old value
 *	ol_cas_{relaxed,acquire,release,acq_rel}(p, old, v)	true if *p was old and is v now; never
 *								fails without cause; relaxed on failure
 *	ol_add_, ol_or_, ol_and_{relaxed,acquire,release,acq_rel}(p, v)		the old value
 *	ol_fence()						sequentially consistent fence
 *
 * Halves of an aligned 32-bit word. They are calls, not a union, because C++20 has no anonymous
 * structs and because a race detector must see that half and word are one object. A store to one
 * half does not disturb the other; a whole-word load may see a half-store of its own context
 * before others do (x86 store forwarding), so a lock must not infer order between halves.
 *
 *	ol_lo(w), ol_hi(w), ol_word(hi, lo)			of a value
 *	ol_load_{lo,hi}_{relaxed,acquire}(p)			the half
 *	ol_store_{lo,hi}_{relaxed,release}(p, v)
 *	ol_xchg_{lo,hi}_{acquire,release,acq_rel}(p, v)		the old half
 *	ol_cas_{lo,hi}_{relaxed,acquire,release}(p, old, v)	true if it was old and is v now; hi also
 *								acq_rel
 *	ol_add_lo_{relaxed,release}(p, n)			the old half; no carry into the other
 *	ol_add_hi_{relaxed,acquire}(p, n)			the old *word*: one 32-bit add
 *	ol_bump_lo_release(p, n)				adds n; only for a half that nobody
 *								else writes: a store, not an atomic
 *	ol_store_byte_release(p, v)				the lowest byte, and nothing beside it
 *
 * Waiting. ol_relax() says "I polled, nothing yet"; ol_relax_until(t) adds "and I want to look
 * again by time t". Both may return at any moment. A loop that ends on time must use the latter:
 * the simulator puts a relaxing context to sleep until something it has read changes.
 * ol_relax_briefly() is for a wait that no release ends, but another waiter by its next few steps.
 *
 * Time, in ticks of an unspecified length. Times are compared only through these calls, because a
 * model checker answers them without a clock.
 *
 *	ol_now()		the present
 *	ol_after(n, d)		n times d from now, saturating; d = OL_NEVER gives OL_NEVER
 *	ol_later(t, n, d)	n times d after t, likewise
 *	ol_passed(t)		has t come? never, for OL_NEVER; always, for OL_PAST
 *	ol_before(a, b), ol_earlier(a, b)
 *
 * Identity.
 *
 *	ol_self()		this context's id, 1 ... OL_ID_MAX, unique among the living; 0 if none
 *				is left. A context without one must not take a FIFO ticket: two
 *				waiters whose tickets alias would both enter. It loops on trylock.
 *	ol_node_get()		a queue node, rubbish in its words, or null; type-stable
 *	ol_node_put(node)	gives it back, from any context
 *	ol_node_number(node)	its name in a few bits, 1 ... OL_NODE_MAX; 0 if it has none
 *	ol_node_at(number)	the node of that name, never null: where the name is stale, some node
 *	ol_named_node_get()	ol_node_get(), but null for a node without a name
 *
 * Parking, by address.
 *
 *	ol_park(p, seen, key, until)	sleeps while the aligned 32-bit *p equals `seen`, until kicked
 *					or `until`; returns whenever it likes and does not say why
 *	ol_kick(p, key, n)		wakes up to n of those parked on p whose key shares a bit with
 *					`key` (never 0; OL_ANY: all). Uses the address only: the memory
 *					may be gone.
 *
 * The parker publishes (a value the kicker will find), the world fences and compares, then it
 * sleeps; the kicker stores, fences, looks. Publishing and looking by a read-modify-write of the
 * same word needs no fence.
 *
 *	ol_compete(p)			this context competes for what those who park on p wait for; the last
 *					p counts
 *	ol_leave()			this context is about to sleep, and not for a lock: adds 1 to that *p and
 *					kicks one of those parked there, who gets its place; then forgets p.
 *					A world may ignore both.
 *
 * Yielding and asking.
 *
 *	ol_yield(), ol_yield_to(id)		give the CPU away; to nobody, or to that context
 *	ol_yield_until(t)			gives it away and wants it back by time t. Where the world
 *						can halt a context it may come back later, but
 *						needs no kick; it may come back at any moment
 *	ol_defer_begin(), ol_defer_end()	a hint: briefly, do not preempt me
 *
 * Knowledge of preemption; each may answer "unknown".
 *
 *	ol_slice_id()		changes whenever this context has been off its CPU; 0 unknown
 *	ol_slice_end()		when it will be preempted; OL_NEVER unknown
 *	ol_slice_min()		until when it certainly will not be: the guaranteed part of the slice
 *				(Xen's ratelimit); OL_NEVER unknown
 *	ol_is_preempted(id)	true only if known, of id 0 never
 *	ol_quota_end()		when the CPU quota runs out; OL_NEVER unknown
 *	ol_cpu()		the number of the CPU that this context is on, or was a moment ago
 *
 * What a context has learnt, kept by the world; a world may keep nothing.
 *
 *	ol_csd_learn(since, n)	n critical sections took from `since` until now
 *	ol_csd()		how long one takes by that, in ticks; 0 unknown: on average in user
 *				space, longer than nearly all in a kernel
 *	ol_crowd()		memory of this context's, zero at first, where it keeps what its yields showed;
 *				null: there is none
 *
 * Transactions, as RTM has them.
 *
 *	ol_htm_works()		transactions were seen to commit here
 *	ol_htm_begin()		OL_HTM_STARTED, in a transaction; or why it was aborted: then all is as
 *				it was, and the call returns again. Within another it is part of that.
 *	ol_htm_commit()		ends the innermost; what the outermost wrote is there all at once
 *	ol_htm_abort()		does not return where there is a transaction
 *	ol_htm_active()		is this context in one?
 *	ol_htm_set_owner(p)	whose the transaction is. Kept by the context, so that two which elide
 *				one lock share nothing; set inside, for an interrupt between setting it
 *				and beginning could change it. To be set to null after the commit.
 *	ol_htm_owner()		that; null if this context is in no transaction
 *
 * The rest: ol_tune(NAME) reads a tunable of tunables.def (a time in ticks, or a number);
 * ol_wait_slot(i) is entry i mod ol_tune(wait_slots) of the waiting array shared by all locks;
 * OL_SLOTS(n) is n, the length of an array of a lock's own, but 2 in a simulated world, where few
 * contexts shall be more than the slots;
 * ol_count(EVENT) counts an event of events.def in the counted build and vanishes in the plain one;
 * ol_count_at(EVENT, n) counts one that has a place or a length. `n` is reckoned from what was read
 * anyway, never by a call of the platform layer: counting must not change what a lock does.
 */

#define OL_WAIT_SLOTS	16384u	/* room; the tunable wait_slots says how many are used */

#if defined(OL_PORT_SIM)
#include <overlock/port/sim.h>
#elif defined(__KERNEL__)
#include <overlock/port/linux.h>
#else
#include <overlock/port/user.h>
#endif

/* What follows is the same in every world. */

#define OL_ID_MAX	16383u	/* twice as many tickets in fours still fit 16 bits */
#define OL_NODE_MAX	16383u	/* and a tail may keep two bits for itself */
#define OL_HTM_STARTED	(~0u)

#ifndef OL_SLOTS
#define OL_SLOTS(n)	(n)
#endif

/* Why a transaction was aborted: RTM's bits, of which several may be set. None: an interrupt, a fault. */
#define OL_HTM_EXPLICIT	1u
#define OL_HTM_RETRY	2u	/* it may succeed next time */
#define OL_HTM_CONFLICT	4u
#define OL_HTM_CAPACITY	8u

static inline uint16_t ol_lo(uint32_t word)
{
	return (uint16_t)word;
}

static inline uint16_t ol_hi(uint32_t word)
{
	return (uint16_t)(word >> 16);
}

static inline uint32_t ol_word(uint16_t hi, uint16_t lo)
{
	return (uint32_t)hi << 16 | lo;
}

#ifndef ol_relax_briefly
#define ol_relax_briefly()	ol_relax()
#endif

#ifndef ol_bump_lo_release
#define ol_bump_lo_release(p, n)	\
	ol_store_lo_release(p, (uint16_t)(ol_load_lo_relaxed(p) + (n)))
#endif

/* For a lock whose tail has no room for a pointer: a context that gets null must not queue. */
static inline struct ol_node *ol_named_node_get(void)
{
	struct ol_node *node = ol_node_get();

	if (node && !ol_node_number(node)) {
		ol_node_put(node);
		return 0;
	}
	return node;
}

/* Counts an abort by its cause, as ol_htm_begin() told it. */
static inline void ol_htm_count_abort(unsigned status)
{
	(void)status; /* where nothing is counted */
	ol_count(status & OL_HTM_EXPLICIT   ? OL_TX_EXPLICIT
		 : status & OL_HTM_CAPACITY ? OL_TX_CAPACITY
		 : status & OL_HTM_CONFLICT ? OL_TX_CONFLICT
					    : OL_TX_OTHER);
}

/* The key of a ticket: waiters 32 tickets apart share one, so kick *all* that match. */
static inline uint32_t ol_key(unsigned ticket)
{
	return 1u << (ticket % 32);
}
#endif
