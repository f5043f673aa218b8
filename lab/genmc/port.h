/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PORT_GENMC_H
#define OL_PORT_GENMC_H
/*
 * The platform layer in plain C11, for a stateless checker of C programs (GenMC) and for any C compiler.
 *
 * `overlock check --emit genmc LOCK` puts this text where the lock says <overlock/port/user.h>.
 * Checked, the world is smaller than the lock's own; docs/results/genmc.md says by what.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<genmc.h>)
#include <genmc.h>
#define OL_CHECKED 1
#endif
#endif
#ifndef OL_CHECKED
#include <sched.h>
#endif

#ifndef OL_CONTEXTS
#define OL_CONTEXTS 2
#endif
#ifndef OL_EXPIRIES
#define OL_EXPIRIES 1 /* deadlines of a context that may come at any moment; later ones have come */
#endif

#ifndef OL_POLLS
#define OL_POLLS 0 /* polls in vain that a context goes on from; a later one must be its last */
#endif

typedef uint64_t ol_ticks_t;

#define OL_NEVER	UINT64_MAX
#define OL_ANY		(~0u)
#define OL_SLOTS(n)	2

#define OL_UNLIKELY(x)	(x)
#define OL_COLD		__attribute__((unused))
#define OL_OWN_LINE	__attribute__((aligned(128)))
#define OL_INLINE	static inline __attribute__((unused))

#define OL_CAPABILITY
#define OL_ACQUIRES(...)
#define OL_RELEASES(...)
#define OL_TRY_ACQUIRES(...)

struct ol_node {
	struct ol_node *next;
	uint32_t wait;
	uint32_t ahead; /* the number of the node ahead in line */
	uint32_t place; /* how many are ahead, as far as is known */
	uint32_t id;	/* whose it is, as ol_self() */
	uint32_t owner; /* who holds the lock, as far as the line was told */
	uint64_t time;	/* until when its owner is to be taken for running, in ticks */
} OL_OWN_LINE;

static _Thread_local uint32_t ol_id; /* the client gives it: 1 ... OL_CONTEXTS */

/*
 * An attempt that changes nothing when it fails. The checker drops the executions in which it does
 * (another one has the attempt later), and takes an attempt that can never succeed for a deadlock.
 */
OL_INLINE void ol_attempt(void)
{
#ifdef OL_CHECKED
	__VERIFIER_loop_begin();
	__VERIFIER_spin_start();
#endif
}

OL_INLINE bool ol_attempted(bool success)
{
#ifdef OL_CHECKED
	__VERIFIER_spin_end(success);
#else
	if (!success)
		sched_yield();
#endif
	return success;
}

/*
 * What this context has seen since it last wrote or relaxed: a poll. To relax is to see one of these
 * words with another value, which is when the next poll can end otherwise.
 */
enum ol_width { OL_W8, OL_W16, OL_W32, OL_W64, OL_WNODE };

/* Scalars, for GenMC makes nothing else local to a thread. */
#define OL_DEFINE_SEEN(n)								\
	static _Thread_local const void *ol_seen_at##n;					\
	static _Thread_local enum ol_width ol_seen_width##n;				\
	static _Thread_local uint64_t ol_seen_mask##n, ol_seen_value##n;		\
	OL_INLINE bool ol_saw##n(const void *at, enum ol_width width, uint64_t mask,	\
				 uint64_t value)					\
	{										\
		if (ol_seen_at##n && ol_seen_at##n != at)				\
			return false;							\
		if (!ol_seen_at##n)							\
			ol_seen_mask##n = 0;						\
		ol_seen_moved |= ((ol_seen_value##n ^ value) & ol_seen_mask##n) != 0;	\
		ol_seen_at##n = at;							\
		ol_seen_width##n = width;						\
		ol_seen_mask##n |= mask;						\
		ol_seen_value##n = value;						\
		return true;								\
	}

static _Thread_local bool ol_seen_moved; /* one of them twice, and not the same */
static _Thread_local enum {
	OL_BLANK,  /* nothing seen yet */
	OL_OWN,	   /* what we wrote */
	OL_WHOLE,  /* a poll that is one attempt from its first word on */
	OL_BROKEN, /* a poll with an attempt inside */
} ol_poll;
/* As many as the longest poll looks at: a release that passes over a waiter, who may be gone, too. */
#define OL_EACH_SEEN(X)	X(0) X(1) X(2) X(3) X(4) X(5)
OL_EACH_SEEN(OL_DEFINE_SEEN)

OL_INLINE void ol_forget(void)
{
#define OL_FORGET(n)	ol_seen_at##n = NULL;
	OL_EACH_SEEN(OL_FORGET)
	ol_seen_moved = false;
	ol_poll = OL_BLANK;
}

/* Before a look. */
OL_INLINE void ol_looks(void)
{
	bool moved = ol_seen_moved;

	if (ol_poll == OL_WHOLE || ol_poll == OL_BROKEN)
		return;
	ol_forget();
	ol_seen_moved = moved;
	ol_attempt();
	ol_poll = OL_WHOLE;
}

OL_INLINE void ol_saw(const void *at, enum ol_width width, uint64_t mask, uint64_t value)
{
#define OL_OR_SAW(n)	|| ol_saw##n(at, width, mask, value)
	bool kept = false OL_EACH_SEEN(OL_OR_SAW);

	assert(kept); /* or this port must remember more */
	(void)kept;
}

OL_INLINE void ol_wrote(const void *at, enum ol_width width, uint64_t value)
{
	ol_forget();
	ol_saw(at, width, UINT64_MAX, value);
	ol_poll = OL_OWN;
}

OL_INLINE uint64_t ol_look(const void *at, enum ol_width width)
{
	switch (width) {
	case OL_W8:
		return atomic_load_explicit((_Atomic(uint8_t) *)at, memory_order_relaxed);
	case OL_W16:
		return atomic_load_explicit((_Atomic(uint16_t) *)at, memory_order_relaxed);
	case OL_W32:
		return atomic_load_explicit((_Atomic(uint32_t) *)at, memory_order_relaxed);
	case OL_W64:
		return atomic_load_explicit((_Atomic(uint64_t) *)at, memory_order_relaxed);
	case OL_WNODE:
		break;
	}
	return (uintptr_t)atomic_load_explicit((_Atomic(struct ol_node *) *)at,
					       memory_order_relaxed);
}

/* Atomics. The orders that no lock asks for are there for those that lose one. */

#define OL_EACH_NUMBER(X, ...)								\
	X(8, OL_W8, uint8_t, __VA_ARGS__)						\
	X(16, OL_W16, uint16_t, __VA_ARGS__)						\
	X(32, OL_W32, uint32_t, __VA_ARGS__)						\
	X(64, OL_W64, uint64_t, __VA_ARGS__)
#define OL_EACH_WIDTH(X, ...)								\
	OL_EACH_NUMBER(X, __VA_ARGS__)							\
	X(node, OL_WNODE, struct ol_node *, __VA_ARGS__)

#define OL_DEFINE_LOAD(name, width, type, order)					\
	OL_INLINE type ol_load_##order##_##name(type const *p)				\
	{										\
		type v;									\
		ol_looks();								\
		v = atomic_load_explicit((_Atomic(type) *)p, memory_order_##order);	\
		ol_saw(p, width, UINT64_MAX, (uint64_t)(uintptr_t)v);			\
		return v;								\
	}
#define OL_DEFINE_STORE(name, width, type, order)					\
	OL_INLINE void ol_store_##order##_##name(type *p, type v)			\
	{										\
		atomic_store_explicit((_Atomic(type) *)p, v, memory_order_##order);	\
		ol_wrote(p, width, (uint64_t)(uintptr_t)v);				\
	}
#define OL_DEFINE_XCHG(name, width, type, order)					\
	OL_INLINE type ol_xchg_##order##_##name(type *p, type v)			\
	{										\
		type old = atomic_exchange_explicit((_Atomic(type) *)p, v,		\
						    memory_order_##order);		\
		ol_wrote(p, width, (uint64_t)(uintptr_t)v);				\
		return old;								\
	}
#define OL_DEFINE_CAS(name, width, type, order)						\
	OL_INLINE bool ol_cas_##order##_##name(type *p, type old, type v)		\
	{										\
		ol_looks();								\
		if (atomic_compare_exchange_strong_explicit((_Atomic(type) *)p, &old, v,\
							    memory_order_##order,	\
							    memory_order_relaxed)) {	\
			ol_wrote(p, width, (uint64_t)(uintptr_t)v);			\
			return true;							\
		}									\
		ol_saw(p, width, UINT64_MAX, (uint64_t)(uintptr_t)old);			\
		return false;								\
	}
#define OL_DEFINE_CHANGE(name, width, type, op, operator, order)			\
	OL_INLINE type ol_##op##_##order##_##name(type *p, type v)			\
	{										\
		type old = atomic_fetch_##op##_explicit((_Atomic(type) *)p, v,		\
							memory_order_##order);		\
		ol_wrote(p, width, (type)(old operator v));				\
		return old;								\
	}
#define OL_DEFINE_CHANGES(order)							\
	OL_EACH_WIDTH(OL_DEFINE_XCHG, order)						\
	OL_EACH_WIDTH(OL_DEFINE_CAS, order)						\
	OL_EACH_NUMBER(OL_DEFINE_CHANGE, add, +, order)					\
	OL_EACH_NUMBER(OL_DEFINE_CHANGE, or, |, order)					\
	OL_EACH_NUMBER(OL_DEFINE_CHANGE, and, &, order)

OL_EACH_WIDTH(OL_DEFINE_LOAD, relaxed)
OL_EACH_WIDTH(OL_DEFINE_LOAD, acquire)
OL_EACH_WIDTH(OL_DEFINE_STORE, relaxed)
OL_EACH_WIDTH(OL_DEFINE_STORE, release)

OL_DEFINE_CHANGES(relaxed)
OL_DEFINE_CHANGES(acquire)
OL_DEFINE_CHANGES(release)
OL_DEFINE_CHANGES(acq_rel)

#define OL_OF(call, p)									\
	_Generic((p),									\
		uint8_t *: call##_8, const uint8_t *: call##_8,				\
		uint16_t *: call##_16, const uint16_t *: call##_16,			\
		uint32_t *: call##_32, const uint32_t *: call##_32,			\
		uint64_t *: call##_64, const uint64_t *: call##_64,			\
		struct ol_node **: call##_node, struct ol_node *const *: call##_node)

#define ol_load_relaxed(p)		OL_OF(ol_load_relaxed, p)(p)
#define ol_load_acquire(p)		OL_OF(ol_load_acquire, p)(p)
#define ol_store_relaxed(p, v)		OL_OF(ol_store_relaxed, p)(p, v)
#define ol_store_release(p, v)		OL_OF(ol_store_release, p)(p, v)
#define ol_xchg_relaxed(p, v)		OL_OF(ol_xchg_relaxed, p)(p, v)
#define ol_xchg_acquire(p, v)		OL_OF(ol_xchg_acquire, p)(p, v)
#define ol_xchg_release(p, v)		OL_OF(ol_xchg_release, p)(p, v)
#define ol_xchg_acq_rel(p, v)		OL_OF(ol_xchg_acq_rel, p)(p, v)
#define ol_cas_relaxed(p, old, v)	OL_OF(ol_cas_relaxed, p)(p, old, v)
#define ol_cas_acquire(p, old, v)	OL_OF(ol_cas_acquire, p)(p, old, v)
#define ol_cas_release(p, old, v)	OL_OF(ol_cas_release, p)(p, old, v)
#define ol_cas_acq_rel(p, old, v)	OL_OF(ol_cas_acq_rel, p)(p, old, v)
#define OL_OF_NUMBER(call, p)								\
	_Generic((p),									\
		uint8_t *: call##_8, uint16_t *: call##_16,				\
		uint32_t *: call##_32, uint64_t *: call##_64)
#define ol_add_relaxed(p, v)		OL_OF_NUMBER(ol_add_relaxed, p)(p, v)
#define ol_add_acquire(p, v)		OL_OF_NUMBER(ol_add_acquire, p)(p, v)
#define ol_add_release(p, v)		OL_OF_NUMBER(ol_add_release, p)(p, v)
#define ol_add_acq_rel(p, v)		OL_OF_NUMBER(ol_add_acq_rel, p)(p, v)
#define ol_or_relaxed(p, v)		OL_OF_NUMBER(ol_or_relaxed, p)(p, v)
#define ol_or_acquire(p, v)		OL_OF_NUMBER(ol_or_acquire, p)(p, v)
#define ol_or_release(p, v)		OL_OF_NUMBER(ol_or_release, p)(p, v)
#define ol_or_acq_rel(p, v)		OL_OF_NUMBER(ol_or_acq_rel, p)(p, v)
#define ol_and_relaxed(p, v)		OL_OF_NUMBER(ol_and_relaxed, p)(p, v)
#define ol_and_acquire(p, v)		OL_OF_NUMBER(ol_and_acquire, p)(p, v)
#define ol_and_release(p, v)		OL_OF_NUMBER(ol_and_release, p)(p, v)
#define ol_and_acq_rel(p, v)		OL_OF_NUMBER(ol_and_acq_rel, p)(p, v)
#define ol_fence()			atomic_thread_fence(memory_order_seq_cst)

/*
 * Halves, for a checker that knows no accesses of mixed size: a load is a load of the word, all else
 * exchanges the word for one with the half changed. An addition must not carry, and says so.
 */
enum ol_half { OL_LO = 0, OL_HI = 16 };

OL_INLINE uint16_t ol_half_saw(const uint32_t *p, enum ol_half half, uint32_t w)
{
	ol_saw(p, OL_W32, 0xffffull << half, w);
	return (uint16_t)(w >> half);
}

OL_INLINE uint32_t ol_with_half(uint32_t w, enum ol_half half, uint16_t v)
{
	return (w & ~(0xffffu << half)) | (uint32_t)v << half;
}

#define OL_DEFINE_HALF_LOAD(order)							\
	OL_INLINE uint16_t ol_half_load_##order(const uint32_t *p, enum ol_half half)	\
	{										\
		ol_looks();								\
		return ol_half_saw(p, half,						\
				   atomic_load_explicit((_Atomic(uint32_t) *)p,		\
							memory_order_##order));		\
	}

/* The word as this context last saw it: often right, and a checker is spared a look. */
OL_INLINE uint32_t ol_last(_Atomic(uint32_t) *word)
{
	const void *at = (const void *)word;

#define OL_LAST(n)	if (ol_seen_at##n == at) return (uint32_t)ol_seen_value##n;
	OL_EACH_SEEN(OL_LAST)
	return atomic_load_explicit(word, memory_order_relaxed);
}

#define OL_DEFINE_HALF_ADD(order)							\
	OL_INLINE uint16_t ol_half_add_##order(uint32_t *p, enum ol_half half, uint16_t n)\
	{										\
		uint32_t w = atomic_fetch_add_explicit((_Atomic(uint32_t) *)p,		\
						       (uint32_t)n << half, memory_order_##order);\
		assert((uint16_t)(w >> half) + (uint32_t)n <= UINT16_MAX);		\
		ol_wrote(p, OL_W32, w + ((uint32_t)n << half));				\
		return (uint16_t)(w >> half);						\
	}
#define OL_DEFINE_HALF_XCHG(order)							\
	OL_INLINE uint16_t ol_half_xchg_##order(uint32_t *p, enum ol_half half, uint16_t v)\
	{										\
		_Atomic(uint32_t) *word = (_Atomic(uint32_t) *)p;			\
		uint32_t w = ol_last(word), seen = w;					\
		bool done = atomic_compare_exchange_strong_explicit(			\
			word, &seen, ol_with_half(w, half, v), memory_order_##order,	\
			memory_order_relaxed);						\
		while (!done) {								\
			ol_attempt();							\
			w = seen = atomic_load_explicit(word, memory_order_relaxed);	\
			done = ol_attempted(atomic_compare_exchange_strong_explicit(	\
				word, &seen, ol_with_half(w, half, v), memory_order_##order,\
				memory_order_relaxed));					\
		}									\
		ol_wrote(p, OL_W32, ol_with_half(w, half, v));				\
		return (uint16_t)(w >> half);						\
	}
#define OL_DEFINE_HALF_CAS(order)							\
	OL_INLINE bool ol_half_cas_##order(uint32_t *p, enum ol_half half, uint16_t old, uint16_t v)\
	{										\
		_Atomic(uint32_t) *word = (_Atomic(uint32_t) *)p;			\
		uint32_t w, seen;							\
		bool done;								\
		ol_looks();								\
		w = seen = ol_last(word);						\
		done = (uint16_t)(w >> half) == old &&					\
		       atomic_compare_exchange_strong_explicit(				\
			       word, &seen, ol_with_half(w, half, v), memory_order_##order,\
			       memory_order_relaxed);					\
		while (!done) {								\
			if (w != seen && ol_half_saw(p, half, seen) != old)		\
				return false;						\
			ol_poll = OL_BROKEN;						\
			ol_attempt();							\
			w = seen = atomic_load_explicit(word, memory_order_relaxed);	\
			if (ol_half_saw(p, half, w) != old)				\
				return false;						\
			done = ol_attempted(atomic_compare_exchange_strong_explicit(	\
				word, &seen, ol_with_half(w, half, v), memory_order_##order,\
				memory_order_relaxed));					\
		}									\
		ol_wrote(p, OL_W32, ol_with_half(w, half, v));				\
		return true;								\
	}
#define OL_DEFINE_BYTE_STORE(order)							\
	OL_INLINE void ol_byte_store_##order(uint32_t *p, uint8_t v)			\
	{										\
		_Atomic(uint32_t) *word = (_Atomic(uint32_t) *)p;			\
		uint32_t w = ol_last(word), seen = w;					\
		bool done = atomic_compare_exchange_strong_explicit(			\
			word, &seen, (w & ~0xffu) | v, memory_order_##order,		\
			memory_order_relaxed);						\
		while (!done) {								\
			ol_attempt();							\
			w = seen = atomic_load_explicit(word, memory_order_relaxed);	\
			done = ol_attempted(atomic_compare_exchange_strong_explicit(	\
				word, &seen, (w & ~0xffu) | v, memory_order_##order,	\
				memory_order_relaxed));					\
		}									\
		ol_wrote(p, OL_W32, (w & ~0xffu) | v);					\
	}
#define OL_DEFINE_HALVES(order)								\
	OL_DEFINE_HALF_ADD(order)							\
	OL_DEFINE_HALF_XCHG(order)							\
	OL_DEFINE_HALF_CAS(order)

OL_DEFINE_BYTE_STORE(relaxed)
OL_DEFINE_BYTE_STORE(release)
OL_DEFINE_HALF_LOAD(relaxed)
OL_DEFINE_HALF_LOAD(acquire)
OL_DEFINE_HALVES(relaxed)
OL_DEFINE_HALVES(acquire)
OL_DEFINE_HALVES(release)
OL_DEFINE_HALVES(acq_rel)

#define ol_load_lo_relaxed(p)		ol_half_load_relaxed(p, OL_LO)
#define ol_load_lo_acquire(p)		ol_half_load_acquire(p, OL_LO)
#define ol_store_lo_relaxed(p, v)	((void)ol_half_xchg_relaxed(p, OL_LO, v))
#define ol_store_lo_release(p, v)	((void)ol_half_xchg_release(p, OL_LO, v))
#define ol_load_hi_relaxed(p)		ol_half_load_relaxed(p, OL_HI)
#define ol_load_hi_acquire(p)		ol_half_load_acquire(p, OL_HI)
#define ol_store_hi_relaxed(p, v)	((void)ol_half_xchg_relaxed(p, OL_HI, v))
#define ol_store_hi_release(p, v)	((void)ol_half_xchg_release(p, OL_HI, v))
#define ol_xchg_lo_relaxed(p, v)	ol_half_xchg_relaxed(p, OL_LO, v)
#define ol_xchg_lo_acquire(p, v)	ol_half_xchg_acquire(p, OL_LO, v)
#define ol_xchg_lo_release(p, v)	ol_half_xchg_release(p, OL_LO, v)
#define ol_xchg_lo_acq_rel(p, v)	ol_half_xchg_acq_rel(p, OL_LO, v)
#define ol_cas_lo_relaxed(p, old, v)	ol_half_cas_relaxed(p, OL_LO, old, v)
#define ol_cas_lo_acquire(p, old, v)	ol_half_cas_acquire(p, OL_LO, old, v)
#define ol_cas_lo_release(p, old, v)	ol_half_cas_release(p, OL_LO, old, v)
#define ol_cas_lo_acq_rel(p, old, v)	ol_half_cas_acq_rel(p, OL_LO, old, v)
#define ol_xchg_hi_relaxed(p, v)	ol_half_xchg_relaxed(p, OL_HI, v)
#define ol_xchg_hi_acquire(p, v)	ol_half_xchg_acquire(p, OL_HI, v)
#define ol_xchg_hi_release(p, v)	ol_half_xchg_release(p, OL_HI, v)
#define ol_xchg_hi_acq_rel(p, v)	ol_half_xchg_acq_rel(p, OL_HI, v)
#define ol_cas_hi_relaxed(p, old, v)	ol_half_cas_relaxed(p, OL_HI, old, v)
#define ol_cas_hi_acquire(p, old, v)	ol_half_cas_acquire(p, OL_HI, old, v)
#define ol_cas_hi_release(p, old, v)	ol_half_cas_release(p, OL_HI, old, v)
#define ol_cas_hi_acq_rel(p, old, v)	ol_half_cas_acq_rel(p, OL_HI, old, v)
#define ol_add_lo_relaxed(p, n)		ol_half_add_relaxed(p, OL_LO, n)
#define ol_add_lo_acquire(p, n)		ol_half_add_acquire(p, OL_LO, n)
#define ol_add_lo_release(p, n)		ol_half_add_release(p, OL_LO, n)
#define ol_add_lo_acq_rel(p, n)		ol_half_add_acq_rel(p, OL_LO, n)
#define ol_bump_lo_relaxed(p, n)	((void)ol_half_add_relaxed(p, OL_LO, n))
#define ol_bump_lo_release(p, n)	((void)ol_half_add_release(p, OL_LO, n))
#define ol_add_hi_relaxed(p, n)		ol_add_relaxed(p, (uint32_t)(n) << 16)
#define ol_add_hi_acquire(p, n)		ol_add_acquire(p, (uint32_t)(n) << 16)
#define ol_add_hi_release(p, n)		ol_add_release(p, (uint32_t)(n) << 16)
#define ol_add_hi_acq_rel(p, n)		ol_add_acq_rel(p, (uint32_t)(n) << 16)
#define ol_store_byte_relaxed(p, v)	ol_byte_store_relaxed(p, v)
#define ol_store_byte_release(p, v)	ol_byte_store_release(p, v)

/*
 * Time. A deadline is the number of a clock that main() sets to 1 while the contexts run, so every
 * look at it may find that it has come, or not yet. OL_PAST has come at once; OL_NEVER never does.
 */
#define OL_PAST	((ol_ticks_t)0)

static _Atomic(uint32_t) ol_clocks[OL_CONTEXTS + 1][OL_EXPIRIES + 1];
static _Thread_local unsigned ol_deadlines;

OL_INLINE void ol_let_time_pass(void)
{
	for (unsigned id = 1; id <= OL_CONTEXTS; id++)
		for (unsigned i = 1; i <= OL_EXPIRIES; i++)
			atomic_store_explicit(&ol_clocks[id][i], 1, memory_order_relaxed);
}

OL_INLINE ol_ticks_t ol_after(uint64_t n, ol_ticks_t d)
{
	if (d == OL_NEVER)
		return OL_NEVER;
	if (!n || !d || ol_deadlines == OL_EXPIRIES)
		return OL_PAST;
	return ++ol_deadlines;
}

OL_INLINE ol_ticks_t ol_later(ol_ticks_t t, uint64_t n, ol_ticks_t d)
{
	return t == OL_NEVER ? OL_NEVER : ol_after(n, d);
}

OL_INLINE bool ol_passed(ol_ticks_t t)
{
	if (t == OL_PAST || t == OL_NEVER)
		return t == OL_PAST;
	return atomic_load_explicit(&ol_clocks[ol_id][t], memory_order_relaxed);
}

OL_INLINE bool ol_before(ol_ticks_t a, ol_ticks_t b)
{
	return a < b;
}

OL_INLINE ol_ticks_t ol_earlier(ol_ticks_t a, ol_ticks_t b)
{
	return a < b ? a : b;
}

OL_INLINE ol_ticks_t ol_now(void)
{
	return OL_PAST;
}

/* Waiting. */

#define OL_OR_CHANGED(n)								\
	|| (ol_seen_at##n &&								\
	    ((ol_look(ol_seen_at##n, ol_seen_width##n) ^ ol_seen_value##n) & ol_seen_mask##n))

/* Looks again until something has changed or `t` has come. */
OL_INLINE void ol_await(ol_ticks_t t)
{
	ol_attempt();
	ol_attempted(false OL_EACH_SEEN(OL_OR_CHANGED) || (t != OL_PAST && ol_passed(t)));
}

static _Thread_local unsigned ol_polls;

OL_INLINE void ol_relax_until(ol_ticks_t t)
{
	bool timed = t != OL_PAST && t != OL_NEVER;

	if (!ol_seen_moved && (ol_poll != OL_BLANK || timed)) {
		if (ol_poll == OL_WHOLE && t != OL_PAST && ++ol_polls > OL_POLLS)
			ol_attempted(timed && ol_passed(t));
		else
			ol_await(t);
	}
	ol_forget();
}

OL_INLINE void ol_relax(void)
{
	ol_relax_until(OL_NEVER);
}

/*
 * Parking, without spurious wake-ups, so that a lost one is a deadlock. The record says where a
 * context sleeps and for which keys; a kick counts up.
 */
struct ol_sleeper {
	_Atomic(uintptr_t) at;
	_Atomic(uint32_t) key, kicks;
};

static struct ol_sleeper ol_sleepers[OL_CONTEXTS + 1];

OL_INLINE void ol_park(const uint32_t *p, uint32_t seen, uint32_t key, ol_ticks_t until)
{
	struct ol_sleeper *me = &ol_sleepers[ol_id];
	uint32_t kicks = atomic_load_explicit(&me->kicks, memory_order_relaxed);

	atomic_store_explicit(&me->key, key, memory_order_relaxed);
	atomic_store_explicit(&me->at, (uintptr_t)p, memory_order_release);
	ol_fence();
	if (atomic_load_explicit((_Atomic(uint32_t) *)p, memory_order_relaxed) == seen) {
		ol_forget();
		ol_saw(&me->kicks, OL_W32, UINT64_MAX, kicks);
		ol_await(until);
	}
	atomic_store_explicit(&me->at, 0, memory_order_relaxed);
	ol_forget();
	ol_seen_moved = true; /* much may have changed: do not relax before the next look */
}

OL_INLINE void ol_kick(const uint32_t *p, uint32_t key, int n)
{
	ol_fence();
	for (unsigned id = 1; id <= OL_CONTEXTS && n > 0; id++) {
		struct ol_sleeper *of = &ol_sleepers[id];

		if (id == ol_id ||
		    atomic_load_explicit(&of->at, memory_order_acquire) != (uintptr_t)p ||
		    !(atomic_load_explicit(&of->key, memory_order_relaxed) & key))
			continue;
		atomic_fetch_add_explicit(&of->kicks, 1, memory_order_relaxed);
		n--;
	}
}

OL_INLINE void ol_yield(void)
{
	ol_relax();
}

OL_INLINE void ol_yield_to(uint32_t id)
{
	(void)id;
	ol_relax();
}

OL_INLINE void ol_yield_until(ol_ticks_t t)
{
	ol_relax_until(t);
}

/* Identity. Nodes come from a stack of the context's own; what it gives back may have been another's. */

enum { OL_NODES = 2, OL_NODES_MOST = (OL_CONTEXTS + 1) * OL_NODES };

static struct ol_node ol_nodes[OL_CONTEXTS + 1][OL_NODES];
static struct ol_node *ol_given_back[OL_CONTEXTS + 1][OL_NODES_MOST];
static _Thread_local unsigned ol_nodes_out, ol_nodes_back;

OL_INLINE uint32_t ol_self(void)
{
	return ol_id;
}

OL_INLINE struct ol_node *ol_node_get(void)
{
	if (ol_nodes_back)
		return ol_given_back[ol_id][--ol_nodes_back];
	return ol_nodes_out < OL_NODES ? &ol_nodes[ol_id][ol_nodes_out++] : NULL;
}

OL_INLINE void ol_node_put(struct ol_node *node)
{
	assert(ol_nodes_back < OL_NODES_MOST);
	ol_given_back[ol_id][ol_nodes_back++] = node;
}

OL_INLINE uint32_t ol_node_number(const struct ol_node *node)
{
	return (uint32_t)(node - &ol_nodes[0][0]) + 1;
}

OL_INLINE struct ol_node *ol_node_at(uint32_t number)
{
	return &ol_nodes[0][0] + (number - 1);
}

static uint64_t ol_wait_slots[OL_TUNE_wait_slots];

OL_INLINE uint64_t *ol_wait_slot(size_t i)
{
	return &ol_wait_slots[i & (OL_TUNE_wait_slots - 1)];
}

/* Knowledge, hints, transactions: none. */

#define ol_tune(name)		((uint64_t)OL_TUNE_##name)
#define ol_count(event)		((void)0)
#define ol_count_at(event, n)	((void)(n))
#define ol_defer_begin()	((void)0)
#define ol_defer_end()		((void)0)
#define ol_slice_id()		((uint64_t)0)
#define ol_slice_end()		OL_NEVER
#define ol_slice_min()		OL_NEVER
#define ol_csd_learn(since, n)	((void)(since), (void)(n))
#define ol_csd()		((ol_ticks_t)0)
#define ol_crowd()		((struct ol_crowd *)0)
#define ol_compete(p)		((void)(p))
#define ol_leave()		((void)0)
#define ol_is_preempted(id)	((void)(id), false)
#define ol_quota_end()		OL_NEVER
#define ol_cpu()		0u
#define ol_htm_works()		false
#define ol_htm_begin()		0u
#define ol_htm_commit()		((void)0)
#define ol_htm_abort()		((void)0)
#define ol_htm_active()		false
#define ol_htm_set_owner(p)	((void)(p))
#define ol_htm_owner()		((const void *)0)
#endif
