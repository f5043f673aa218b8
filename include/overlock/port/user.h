/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PORT_USER_H
#define OL_PORT_USER_H
/*
 * The platform layer in user space: compiler atomics, the time stamp counter, futexes.
 *
 * Correct in C11 and C++11 to C++20 under -pedantic-errors, with gcc and clang. What needs memory of its
 * own (ids, nodes, tuning, parking) is behind liboverlock; a lock that asks for none of it needs
 * no library.
 */
#ifdef __cplusplus
#if __cplusplus < 201103L
#error "overlock: the headers need C++11 (-std=c++11), and overlock.hpp needs C++20"
#endif
#elif !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
#error "overlock: the headers need C11 (-std=c11), or C99 with the extensions of gcc and clang"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <overlock/port/lists.h>

#if !defined(__linux__)
#error "overlock: the user port needs Linux (futexes)"
#endif

typedef uint64_t ol_ticks_t;

#define OL_NEVER	UINT64_MAX
#define OL_PAST		0u
#define OL_ANY		(~0u)

#define OL_UNLIKELY(x)	__builtin_expect(!!(x), 0)
#define OL_COLD		__attribute__((cold, noinline, unused))
#define OL_OWN_LINE	__attribute__((aligned(128)))	/* adjacent-line prefetch: Dice & Kogan 2019, section 4 */

#if defined(__SANITIZE_THREAD__)
#define OL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OL_TSAN 1
#endif
#endif

#if defined(__clang__) && !defined(OL_NO_ANNOTATIONS)
#define OL_ANNOTATE(x)	__attribute__((x))
#else
#define OL_ANNOTATE(x)
#endif
#define OL_CAPABILITY		OL_ANNOTATE(capability("lock"))
#define OL_ACQUIRES(...)	OL_ANNOTATE(acquire_capability(__VA_ARGS__))
#define OL_RELEASES(...)	OL_ANNOTATE(release_capability(__VA_ARGS__))
#define OL_TRY_ACQUIRES(...)	OL_ANNOTATE(try_acquire_capability(true, __VA_ARGS__))
#define OL_REQUIRES(...)	OL_ANNOTATE(requires_capability(__VA_ARGS__))

/* Atomics. The builtins take every width and pointers, in both languages. */

#define ol_load_relaxed(p)	__atomic_load_n(p, __ATOMIC_RELAXED)
#define ol_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define ol_store_relaxed(p, v)	__atomic_store_n(p, v, __ATOMIC_RELAXED)
#define ol_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define ol_xchg_relaxed(p, v)	__atomic_exchange_n(p, v, __ATOMIC_RELAXED)
#define ol_xchg_acquire(p, v)	__atomic_exchange_n(p, v, __ATOMIC_ACQUIRE)
#define ol_xchg_release(p, v)	__atomic_exchange_n(p, v, __ATOMIC_RELEASE)
#define ol_xchg_acq_rel(p, v)	__atomic_exchange_n(p, v, __ATOMIC_ACQ_REL)
#define ol_add_relaxed(p, v)	__atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define ol_add_acquire(p, v)	__atomic_fetch_add(p, v, __ATOMIC_ACQUIRE)
#define ol_add_release(p, v)	__atomic_fetch_add(p, v, __ATOMIC_RELEASE)
#define ol_add_acq_rel(p, v)	__atomic_fetch_add(p, v, __ATOMIC_ACQ_REL)
#define ol_or_relaxed(p, v)	__atomic_fetch_or(p, v, __ATOMIC_RELAXED)
#define ol_or_acquire(p, v)	__atomic_fetch_or(p, v, __ATOMIC_ACQUIRE)
#define ol_or_release(p, v)	__atomic_fetch_or(p, v, __ATOMIC_RELEASE)
#define ol_or_acq_rel(p, v)	__atomic_fetch_or(p, v, __ATOMIC_ACQ_REL)
#define ol_and_relaxed(p, v)	__atomic_fetch_and(p, v, __ATOMIC_RELAXED)
#define ol_and_acquire(p, v)	__atomic_fetch_and(p, v, __ATOMIC_ACQUIRE)
#define ol_and_release(p, v)	__atomic_fetch_and(p, v, __ATOMIC_RELEASE)
#define ol_and_acq_rel(p, v)	__atomic_fetch_and(p, v, __ATOMIC_ACQ_REL)
#define ol_fence()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

/*
 * Compare-exchange wants `expected` in memory. A macro could give it one only by a statement
 * expression, which neither language has, so each width gets a function.
 */
#define OL_INLINE	static inline __attribute__((always_inline, unused))

typedef void *__attribute__((may_alias)) ol_any_pointer_t; /* struct node ** is not void ** */

#define OL_DEFINE_CAS(suffix, type)						\
	OL_INLINE bool ol_cas_##suffix(type *p, type old, type v, int order)	\
	{									\
		return __atomic_compare_exchange_n(p, &old, v, false, order,	\
						   __ATOMIC_RELAXED);		\
	}
OL_DEFINE_CAS(8, uint8_t)
OL_DEFINE_CAS(16, uint16_t)
OL_DEFINE_CAS(32, uint32_t)
OL_DEFINE_CAS(64, uint64_t)

#ifdef __cplusplus
OL_INLINE bool ol_cas_any(uint8_t *p, uint8_t old, uint8_t v, int order)
{
	return ol_cas_8(p, old, v, order);
}
OL_INLINE bool ol_cas_any(uint16_t *p, uint16_t old, uint16_t v, int order)
{
	return ol_cas_16(p, old, v, order);
}
OL_INLINE bool ol_cas_any(uint32_t *p, uint32_t old, uint32_t v, int order)
{
	return ol_cas_32(p, old, v, order);
}
OL_INLINE bool ol_cas_any(uint64_t *p, uint64_t old, uint64_t v, int order)
{
	return ol_cas_64(p, old, v, order);
}
template <class T> OL_INLINE bool ol_cas_any(T **p, T *old, T *v, int order)
{
	return __atomic_compare_exchange_n(p, &old, v, false, order, __ATOMIC_RELAXED);
}
#else
OL_INLINE bool ol_cas_pointer(void *p, void *old, void *v, int order)
{
	return __atomic_compare_exchange_n((ol_any_pointer_t *)p, &old, v, false, order,
					   __ATOMIC_RELAXED);
}
#define ol_cas_any(p, old, v, order)				\
	_Generic((p),						\
		uint8_t *: ol_cas_8, uint16_t *: ol_cas_16,	\
		uint32_t *: ol_cas_32, uint64_t *: ol_cas_64,	\
		default: ol_cas_pointer)(p, old, v, order)
#endif
#define ol_cas_relaxed(p, old, v)	ol_cas_any(p, old, v, __ATOMIC_RELAXED)
#define ol_cas_acquire(p, old, v)	ol_cas_any(p, old, v, __ATOMIC_ACQUIRE)
#define ol_cas_release(p, old, v)	ol_cas_any(p, old, v, __ATOMIC_RELEASE)
#define ol_cas_acq_rel(p, old, v)	ol_cas_any(p, old, v, __ATOMIC_ACQ_REL)

/*
 * Halves. ThreadSanitizer keeps its clocks per address, so a release by half and an acquire by
 * word would be strangers to it: under it every half operation is one on the whole word.
 */
#ifdef OL_TSAN
enum { OL_LO = 0, OL_HI = 16 };

#define OL_HALF_OP(name, result)							\
	OL_INLINE uint16_t ol_half_##name(uint32_t *p, int shift, uint16_t v, int order)\
	{										\
		uint32_t w = __atomic_load_n(p, __ATOMIC_RELAXED);			\
		uint16_t old;								\
		do {									\
			old = (uint16_t)(w >> shift);					\
		} while (!__atomic_compare_exchange_n(					\
			p, &w, (w & ~(0xffffu << shift)) | (uint32_t)(uint16_t)(result) << shift, \
			false, order, __ATOMIC_RELAXED));				\
		return old;								\
	}
OL_HALF_OP(xchg, v)
OL_HALF_OP(add, old + v)
OL_INLINE void ol_half_store(uint32_t *p, int shift, uint16_t v, int order)
{
	(void)ol_half_xchg(p, shift, v, order);
}
OL_INLINE uint16_t ol_half_load(const uint32_t *p, int shift, int order)
{
	return (uint16_t)(__atomic_load_n(p, order) >> shift);
}
OL_INLINE bool ol_half_cas(uint32_t *p, int shift, uint16_t old, uint16_t v, int order)
{
	uint32_t w = __atomic_load_n(p, __ATOMIC_RELAXED);

	while ((uint16_t)(w >> shift) == old)
		if (__atomic_compare_exchange_n(p, &w,
						(w & ~(0xffffu << shift)) | (uint32_t)v << shift,
						false, order, __ATOMIC_RELAXED))
			return true;
	return false;
}
OL_INLINE void ol_byte_store(uint32_t *p, uint8_t v, int order)
{
	uint32_t w = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(p, &w, (w & ~0xffu) | v, false, order,
					    __ATOMIC_RELAXED))
		;
}
#else
typedef uint16_t __attribute__((may_alias)) ol_half_t;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { OL_LO = 0, OL_HI = 1, OL_BYTE = 0 };
#else
enum { OL_LO = 1, OL_HI = 0, OL_BYTE = 3 };
#endif

OL_INLINE void ol_half_store(uint32_t *p, int half, uint16_t v, int order)
{
	__atomic_store_n((ol_half_t *)p + half, v, order);
}
OL_INLINE uint16_t ol_half_load(const uint32_t *p, int half, int order)
{
	return __atomic_load_n((const ol_half_t *)p + half, order);
}
OL_INLINE uint16_t ol_half_xchg(uint32_t *p, int half, uint16_t v, int order)
{
	return __atomic_exchange_n((ol_half_t *)p + half, v, order);
}
OL_INLINE uint16_t ol_half_add(uint32_t *p, int half, uint16_t v, int order)
{
	return __atomic_fetch_add((ol_half_t *)p + half, v, order);
}
OL_INLINE bool ol_half_cas(uint32_t *p, int half, uint16_t old, uint16_t v, int order)
{
	return __atomic_compare_exchange_n((ol_half_t *)p + half, &old, v, false, order,
					   __ATOMIC_RELAXED);
}
OL_INLINE void ol_byte_store(uint32_t *p, uint8_t v, int order)
{
	__atomic_store_n((uint8_t *)p + OL_BYTE, v, order);
}
#endif

/*
 * A release by the half's only writer. The builtins would load, add and store; x86 adds in place,
 * without LOCK, and its stores are releases.
 */
#if (defined(__x86_64__) || defined(__i386__)) && !defined(OL_TSAN)
OL_INLINE void ol_half_bump(uint32_t *p, int half, uint16_t n)
{
	__asm__ __volatile__("addw %1, %0"
			     : "+m"(((ol_half_t *)p)[half])
			     : "ri"(n)
			     : "memory", "cc");
}
#define ol_bump_lo_release(p, n)	ol_half_bump(p, OL_LO, n)
#endif

#define ol_load_lo_relaxed(p)		ol_half_load(p, OL_LO, __ATOMIC_RELAXED)
#define ol_load_lo_acquire(p)		ol_half_load(p, OL_LO, __ATOMIC_ACQUIRE)
#define ol_load_hi_relaxed(p)		ol_half_load(p, OL_HI, __ATOMIC_RELAXED)
#define ol_load_hi_acquire(p)		ol_half_load(p, OL_HI, __ATOMIC_ACQUIRE)
#define ol_store_lo_relaxed(p, v)	ol_half_store(p, OL_LO, v, __ATOMIC_RELAXED)
#define ol_store_lo_release(p, v)	ol_half_store(p, OL_LO, v, __ATOMIC_RELEASE)
#define ol_store_hi_relaxed(p, v)	ol_half_store(p, OL_HI, v, __ATOMIC_RELAXED)
#define ol_store_hi_release(p, v)	ol_half_store(p, OL_HI, v, __ATOMIC_RELEASE)
#define ol_xchg_lo_acquire(p, v)	ol_half_xchg(p, OL_LO, v, __ATOMIC_ACQUIRE)
#define ol_xchg_lo_release(p, v)	ol_half_xchg(p, OL_LO, v, __ATOMIC_RELEASE)
#define ol_xchg_lo_acq_rel(p, v)	ol_half_xchg(p, OL_LO, v, __ATOMIC_ACQ_REL)
#define ol_xchg_hi_acquire(p, v)	ol_half_xchg(p, OL_HI, v, __ATOMIC_ACQUIRE)
#define ol_xchg_hi_release(p, v)	ol_half_xchg(p, OL_HI, v, __ATOMIC_RELEASE)
#define ol_xchg_hi_acq_rel(p, v)	ol_half_xchg(p, OL_HI, v, __ATOMIC_ACQ_REL)
#define ol_cas_lo_relaxed(p, old, v)	ol_half_cas(p, OL_LO, old, v, __ATOMIC_RELAXED)
#define ol_cas_lo_acquire(p, old, v)	ol_half_cas(p, OL_LO, old, v, __ATOMIC_ACQUIRE)
#define ol_cas_lo_release(p, old, v)	ol_half_cas(p, OL_LO, old, v, __ATOMIC_RELEASE)
#define ol_cas_hi_relaxed(p, old, v)	ol_half_cas(p, OL_HI, old, v, __ATOMIC_RELAXED)
#define ol_cas_hi_acquire(p, old, v)	ol_half_cas(p, OL_HI, old, v, __ATOMIC_ACQUIRE)
#define ol_cas_hi_release(p, old, v)	ol_half_cas(p, OL_HI, old, v, __ATOMIC_RELEASE)
#define ol_cas_hi_acq_rel(p, old, v)	ol_half_cas(p, OL_HI, old, v, __ATOMIC_ACQ_REL)
#define ol_add_lo_relaxed(p, n)		ol_half_add(p, OL_LO, n, __ATOMIC_RELAXED)
#define ol_add_lo_release(p, n)		ol_half_add(p, OL_LO, n, __ATOMIC_RELEASE)
#define ol_add_hi_relaxed(p, n)		ol_add_relaxed(p, (uint32_t)(n) << 16)
#define ol_add_hi_acquire(p, n)		ol_add_acquire(p, (uint32_t)(n) << 16)
#define ol_store_byte_release(p, v)	ol_byte_store(p, v, __ATOMIC_RELEASE)

/* Wraps in no century; may be set. */
OL_INLINE uint64_t ol_counter(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return 0;
#endif
}

/* The world state: one per process, in liboverlock; grows at its end only. */

struct ol_world {
	uint32_t abi;	      /* OL_ABI of the library */
	uint32_t size;	      /* sizeof(struct ol_world) in the library */
	uint32_t tsc;	      /* ol_now() may read the time stamp counter */
	uint32_t htm;	      /* transactions were seen to commit here */
	uint64_t *wait_array; /* OL_WAIT_SLOTS of them */
	union {		      /* room: tunables are added without moving what comes after them */
		struct ol_tuning tuning; /* times in ticks */
		uint64_t tuning_room[64];
	};
	/* The counter goes with the clock: ol_now(). */
	uint64_t shift;	     /* what is added to the counter */
	uint64_t from, span; /* ticks in that span need no comparison with the clock */
};

#include <overlock/port/node.h>

#ifdef __cplusplus
extern "C" {
#endif
extern struct ol_world *const ol_world;

uint32_t ol_self(void);
struct ol_node *ol_node_get(void);
void ol_node_put(struct ol_node *node);
uint32_t ol_node_number(const struct ol_node *node);
struct ol_node *ol_node_at(uint32_t number);
uint64_t ol_clock(void);	  /* CLOCK_MONOTONIC in ns */
ol_ticks_t ol_now_by_clock(void); /* ol_now(), compared with the clock */
void ol_park(const uint32_t *word, uint32_t seen, uint32_t key, ol_ticks_t until);
void ol_kick(const uint32_t *word, uint32_t key, int n);
void ol_compete(uint32_t *word);
void ol_leave(void);
void ol_yield(void);
void ol_yield_to(uint32_t id);

/* A thread that sleeps for so short a time is woken too late; one that yields is next after the others. */
static inline void ol_yield_until(ol_ticks_t t)
{
	(void)t;
	ol_yield();
}

void ol_defer_begin(void);
void ol_defer_end(void);
uint64_t ol_slice_id(void);
ol_ticks_t ol_slice_end(void);
ol_ticks_t ol_slice_min(void);
void ol_csd_learn(ol_ticks_t since, unsigned n);
ol_ticks_t ol_csd(void);
struct ol_crowd *ol_crowd(void);
bool ol_is_preempted(uint32_t id);
ol_ticks_t ol_quota_end(void);
uint32_t ol_cpu(void);
void ol_count_event(unsigned event);
void ol_count_event_at(unsigned event, unsigned n);
void ol_count_poll(void);
void ol_htm_set_owner(const void *p);
const void *ol_htm_owned(void); /* as it was set, even if that is long ago */
#ifdef __cplusplus
}
#endif

#define ol_tune(name)	ol_load_relaxed(&ol_world->tuning.name)

OL_INLINE uint64_t *ol_wait_slot(size_t i)
{
	return &ol_world->wait_array[i & (ol_tune(wait_slots) - 1)];
}

/* Counting. */

#ifdef OL_COUNTED
#define ol_count(event)		ol_count_event(event)
#define ol_count_at(event, n)	ol_count_event_at(event, n)
#else
#define ol_count(event)		((void)(event))
#define ol_count_at(event, n)	((void)(event), (void)(n))
#define ol_count_poll()		((void)0)
#endif

/*
 * Polling. Locks in a table of functions (struct ol_lock_ops) say when they have polled in vain, if
 * somebody asks by ol_on_poll(); locks that are inlined into a program never do.
 */

#ifdef OL_POLL_HOOK
#ifdef __cplusplus
extern "C"
#else
extern
#endif
	void (*ol_poll_hook)(ol_ticks_t until);
#endif

OL_INLINE void ol_polled(ol_ticks_t until)
{
#ifdef OL_POLL_HOOK
	if (OL_UNLIKELY(ol_poll_hook))
		ol_poll_hook(until);
#else
	(void)until;
#endif
}

/* Waiting and time. */

OL_INLINE void ol_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__(
		"isb" ::
			: "memory"); /* YIELD is a nop on most cores; ISB waits like PAUSE */
#else
	__asm__ __volatile__("" ::: "memory");
#endif
	ol_count_poll(); /* the counted build tells a long wait from a stalled one */
}

OL_INLINE void ol_relax(void)
{
	ol_pause();
	ol_polled(OL_NEVER);
}

OL_INLINE void ol_relax_until(ol_ticks_t t)
{
	ol_pause();
	ol_polled(t);
}

OL_INLINE void ol_relax_briefly(void)
{
	ol_pause();
	ol_polled(0);
}
#define ol_relax_briefly	ol_relax_briefly

/*
 * The counter may be set back, or leap: a machine was suspended, a program or its virtual machine was saved and
 * goes on elsewhere. So after each `span`, and whenever it does not lie in there, it is compared with the clock.
 */
OL_INLINE ol_ticks_t ol_now(void)
{
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
	if (!OL_UNLIKELY(!ol_load_relaxed(&ol_world->tsc))) {
		ol_ticks_t t = ol_counter() + ol_load_relaxed(&ol_world->shift);

		if (!OL_UNLIKELY(t - ol_load_relaxed(&ol_world->from) >= ol_world->span))
			return t;
	}
#endif
	return ol_now_by_clock();
}

OL_INLINE bool ol_before(ol_ticks_t a, ol_ticks_t b)
{
	return a < b; /* 64 bits of ticks do not wrap in a century */
}

OL_INLINE ol_ticks_t ol_earlier(ol_ticks_t a, ol_ticks_t b)
{
	return a < b ? a : b;
}

OL_INLINE bool ol_passed(ol_ticks_t t)
{
	return t != OL_NEVER && ol_now() >= t;
}

OL_INLINE ol_ticks_t ol_later(ol_ticks_t t, uint64_t n, ol_ticks_t d)
{
	ol_ticks_t span, later;

	if (d == OL_NEVER || __builtin_mul_overflow(n, d, &span) ||
	    __builtin_add_overflow(t, span, &later))
		return OL_NEVER;
	return later;
}

OL_INLINE ol_ticks_t ol_after(uint64_t n, ol_ticks_t d)
{
	return ol_later(ol_now(), n, d);
}

/* Transactions: RTM on x86-64, else absent. */

OL_INLINE bool ol_htm_works(void)
{
	return ol_world->htm;
}
#if defined(__x86_64__)
OL_INLINE unsigned ol_htm_begin(void)
{
	unsigned status = ~0u;

	if (!ol_world->htm)
		return 0;
	__asm__ __volatile__(".byte 0xc7,0xf8 ; .long 0" : "+a"(status)::"memory"); /* XBEGIN */
	return status;
}
OL_INLINE void ol_htm_commit(void)
{
	__asm__ __volatile__(".byte 0x0f,0x01,0xd5" ::: "memory"); /* XEND */
}
OL_INLINE void ol_htm_abort(void)
{
	__asm__ __volatile__(".byte 0xc6,0xf8,0xff" ::: "memory"); /* XABORT 255 */
}
OL_INLINE bool ol_htm_active(void)
{
	unsigned char in = 0;

	if (ol_world->htm)
		__asm__ __volatile__(".byte 0x0f,0x01,0xd6 ; setnz %0"
				     : "=r"(in)::"cc"); /* XTEST */
	return in;
}
#else
OL_INLINE unsigned ol_htm_begin(void)
{
	return 0;
}
OL_INLINE void ol_htm_commit(void)
{
}
OL_INLINE void ol_htm_abort(void)
{
}
OL_INLINE bool ol_htm_active(void)
{
	return false;
}
#endif

OL_INLINE const void *ol_htm_owner(void)
{
	return OL_UNLIKELY(ol_htm_active()) ? ol_htm_owned() : (const void *)0;
}
#endif
