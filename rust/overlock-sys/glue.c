/* SPDX-License-Identifier: MIT */
/*
 * What Rust calls: the inline functions of the headers, as functions with names that the linker knows.
 * build.rs compiles it twice: into the library, and, with OL_RUST_SIZES, to assembly that it reads the sizes from.
 */
#ifdef OL_RUST_LIBRARY
#include <overlock/cond.h>
#include <overlock/ops.h>
#include <overlock/wait/barrier.h>
#else
#include <overlock/ops.h>
#endif
#include "overlock_rust_locks.h" /* by build.rs: the headers of the locks, and OL_RUST_LOCKS, their lines of locks.def */

#ifdef OL_RUST_SIZES

#define OL_LOCK(id, gives_up, traits, source, what)					\
	__asm__ volatile(".ascii \"->lock " #id " %c0 %c1 %c2\"" ::"i"(sizeof(ol_##id##_t)),	\
			 "i"(_Alignof(ol_##id##_t)), "i"(traits));
void ol_rust_sizes(void);
void ol_rust_sizes(void)
{
	OL_RUST_LOCKS
#ifdef OL_RUST_LIBRARY
	__asm__ volatile(".ascii \"->cond %c0 %c1\"" ::"i"(sizeof(ol_cond_t)),
			 "i"(_Alignof(ol_cond_t)));
	__asm__ volatile(".ascii \"->rota %c0 %c1 %c2 %c3\"" ::"i"((int32_t)OL_ROTA_HELD),
			 "i"((int32_t)OL_ROTA_CLAIMED), "i"((int32_t)OL_ROTA_WAKE),
			 "i"((int32_t)OL_ROTA_SLEEPERS));
#endif
}
#undef OL_LOCK

#else

#define OL_DECLARED(result, name, ...)	\
	result name(__VA_ARGS__);	\
	result name(__VA_ARGS__)

#define OL_TIMED_waits(id)
#ifdef OL_RUST_LIBRARY
#define OL_TIMED_timed(id)								\
	OL_DECLARED(bool, ol_rust_##id##_timedlock, void *l, ol_ticks_t until)		\
	{										\
		return ol_##id##_timedlock((ol_##id##_t *)l, until);			\
	}
#else
#define OL_TIMED_timed(id)
#endif

#define OL_LOCK(id, gives_up, traits, source, what)					\
	OL_DECLARED(void, ol_rust_##id##_lock, void *l)					\
	{										\
		ol_##id##_lock((ol_##id##_t *)l);					\
	}										\
	OL_DECLARED(bool, ol_rust_##id##_trylock, void *l)				\
	{										\
		return ol_##id##_trylock((ol_##id##_t *)l);				\
	}										\
	OL_DECLARED(void, ol_rust_##id##_unlock, void *l)				\
	{										\
		ol_##id##_unlock((ol_##id##_t *)l);					\
	}										\
	OL_DECLARED(bool, ol_rust_##id##_is_locked, const void *l)			\
	{										\
		return ol_##id##_is_locked((const ol_##id##_t *)l);			\
	}										\
	OL_TIMED_##gives_up(id)
OL_RUST_LOCKS
#undef OL_LOCK

#ifdef OL_RUST_LIBRARY

/* The parts of rota that Rust does not have inline. */
OL_DECLARED(bool, ol_rust_rota_lock_slow, void *l, ol_ticks_t until)
{
	return ol_rota_lock_slow((ol_rota_t *)l, until);
}

OL_DECLARED(void, ol_rust_rota_unlock_slow, void *l, uint32_t w)
{
	ol_rota_unlock_slow((ol_rota_t *)l, w);
}

/* The time until which a call waits that may take `ns`. */
OL_DECLARED(ol_ticks_t, ol_rust_after_ns, uint64_t ns)
{
	return ol_after(1, ol_ticks_from_ns(ns));
}

OL_DECLARED(void *, ol_rust_cond_prepare, void *c)
{
	return ol_cond_prepare((ol_cond_t *)c);
}

OL_DECLARED(uint32_t, ol_rust_cond_sleep, void *c, void *node, ol_ticks_t until)
{
	return ol_cond_sleep((ol_cond_t *)c, (struct ol_node *)node, until);
}

OL_DECLARED(void, ol_rust_cond_give_way, uint32_t woken)
{
	ol_cond_give_way(woken);
}

OL_DECLARED(uint32_t, ol_rust_cond_relay, void *c, uint32_t woken)
{
	return ol_cond_relay((ol_cond_t *)c, woken);
}

OL_DECLARED(bool, ol_rust_cond_finish, void *c, uint32_t woken)
{
	return ol_cond_finish((ol_cond_t *)c, woken);
}

OL_DECLARED(void, ol_rust_cond_signal, void *c)
{
	ol_cond_signal((ol_cond_t *)c);
}

OL_DECLARED(void, ol_rust_cond_broadcast, void *c)
{
	ol_cond_broadcast((ol_cond_t *)c);
}

OL_DECLARED(bool, ol_rust_barrier_wait, void *b, uint32_t n)
{
	return ol_barrier_wait((ol_barrier_t *)b, n);
}

/* What a lock waits for. */
static bool lacks(uint32_t word, uint32_t bits)
{
	return !(word & bits);
}

/*
 * Does nothing but poll: what a context remembers of its yields says nothing of this holder. Pauses double,
 * since each look takes the cache line from its user. From 1 us on: with 0.5 us the rate was a tenth less.
 */
OL_DECLARED(bool, ol_rust_poll_lacks, const uint32_t *word, uint32_t bits, ol_ticks_t until)
{
	ol_ticks_t pause = ol_tune(pace) / 2, again;

	while (!ol_passed(until)) {
		if (lacks(ol_load_acquire(word), bits))
			return true;
		again = ol_earlier(until, ol_after(1, pause));
		do {
			ol_relax_until(again);
		} while (!ol_passed(again));
		pause *= 2;
	}
	return false;
}

/* The time for which a waiter polls. */
OL_DECLARED(ol_ticks_t, ol_rust_soon, ol_ticks_t until)
{
	return ol_earlier(until, ol_after(1, ol_tune(spin)));
}

OL_DECLARED(bool, ol_rust_wait_lacks, const uint32_t *word, uint32_t bits, ol_ticks_t until)
{
	return ol_wait_until(word, lacks, bits, until);
}

OL_DECLARED(void, ol_rust_wake_all, const uint32_t *word)
{
	ol_wake_all(word);
}
#endif
#endif
