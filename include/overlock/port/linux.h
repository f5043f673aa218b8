/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PORT_LINUX_H
#define OL_PORT_LINUX_H
/*
 * The platform layer in a Linux kernel: its own atomics, sched_clock(), per-CPU state.
 *
 * The caller has preemption disabled, as for every raw spinlock: a context is then a CPU
 * and how deeply it is interrupted (task, softirq, hardirq, NMI), and cannot move while it waits.
 *
 * What needs memory of its own is in guest/linux/kernel/locking/overlock.
 *
 * Ticks are nanoseconds of sched_clock(), which may be read in any context, NMI included. It can
 * differ between CPUs; every deadline of a lock is judged on the CPU that made it.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/smp.h>
#include <linux/sched/clock.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/cmpxchg.h>
#include <asm/processor.h>

#include <overlock/port/lists.h>

#ifndef CONFIG_64BIT
#error "overlock: the Linux port needs a 64-bit kernel (times are 64-bit words)"
#endif

typedef u64 ol_ticks_t;

#define OL_NEVER	U64_MAX
#define OL_PAST		0u
#define OL_ANY		(~0u)

#ifndef INT32_MAX
#define INT32_MAX	S32_MAX
#endif
#ifndef INT64_MAX
#define INT64_MAX	S64_MAX
#endif

#define OL_UNLIKELY(x)	unlikely(x)
#define OL_COLD		__cold noinline __maybe_unused
#define OL_OWN_LINE	__aligned(128)	/* adjacent-line prefetch: Dice & Kogan 2019, section 4 */

#define OL_CAPABILITY
#define OL_ACQUIRES(...)
#define OL_RELEASES(...)
#define OL_TRY_ACQUIRES(...)

/* Atomics. The kernel's own macros take every width and pointers. */

#define ol_load_relaxed(p)	READ_ONCE(*(p))
#define ol_load_acquire(p)	smp_load_acquire((p))
#define ol_store_relaxed(p, v)	WRITE_ONCE(*(p), v)
#define ol_store_release(p, v)	smp_store_release((p), v)

#define ol_xchg_relaxed(p, v)	xchg_relaxed(p, v)
#define ol_xchg_acquire(p, v)	xchg_acquire(p, v)
#define ol_xchg_release(p, v)	xchg_release(p, v)
#define ol_xchg_acq_rel(p, v)	xchg(p, v)

#define OL_CAS(try_cmpxchg_order, p, old, v)			\
	({							\
		typeof(*(p)) ol_expected = (old);		\
		try_cmpxchg_order(p, &ol_expected, v);		\
	})
#define ol_cas_relaxed(p, old, v)	OL_CAS(try_cmpxchg_relaxed, p, old, v)
#define ol_cas_acquire(p, old, v)	OL_CAS(try_cmpxchg_acquire, p, old, v)
#define ol_cas_release(p, old, v)	OL_CAS(try_cmpxchg_release, p, old, v)
#define ol_cas_acq_rel(p, old, v)	OL_CAS(try_cmpxchg, p, old, v)

/*
 * Fetch-and-modify. The kernel has them for atomic_t only, not for the 8- and 16-bit words that
 * halves are, so they are compare-exchange loops; the last, successful, exchange has the order.
 */
#define OL_FETCH(try_cmpxchg_order, p, op, v)						\
	({										\
		typeof(p) ol_p = (p);							\
		typeof(*ol_p) ol_v = (v), ol_old = READ_ONCE(*ol_p);			\
		while (!try_cmpxchg_order(ol_p, &ol_old, (typeof(*ol_p))(ol_old op ol_v))) \
			;								\
		ol_old;									\
	})

#ifdef CONFIG_X86
#define ol_add_relaxed(p, v)	xadd(p, v)	/* LOCK XADD: every order at once */
#define ol_add_acquire(p, v)	xadd(p, v)
#define ol_add_release(p, v)	xadd(p, v)
#define ol_add_acq_rel(p, v)	xadd(p, v)
#else
#define ol_add_relaxed(p, v)	OL_FETCH(try_cmpxchg_relaxed, p, +, v)
#define ol_add_acquire(p, v)	OL_FETCH(try_cmpxchg_acquire, p, +, v)
#define ol_add_release(p, v)	OL_FETCH(try_cmpxchg_release, p, +, v)
#define ol_add_acq_rel(p, v)	OL_FETCH(try_cmpxchg, p, +, v)
#endif
#define ol_or_relaxed(p, v)	OL_FETCH(try_cmpxchg_relaxed, p, |, v)
#define ol_or_acquire(p, v)	OL_FETCH(try_cmpxchg_acquire, p, |, v)
#define ol_or_release(p, v)	OL_FETCH(try_cmpxchg_release, p, |, v)
#define ol_or_acq_rel(p, v)	OL_FETCH(try_cmpxchg, p, |, v)
#define ol_and_relaxed(p, v)	OL_FETCH(try_cmpxchg_relaxed, p, &, v)
#define ol_and_acquire(p, v)	OL_FETCH(try_cmpxchg_acquire, p, &, v)
#define ol_and_release(p, v)	OL_FETCH(try_cmpxchg_release, p, &, v)
#define ol_and_acq_rel(p, v)	OL_FETCH(try_cmpxchg, p, &, v)
#define ol_fence()		smp_mb()

/* Halves. The kernel is compiled with -fno-strict-aliasing, so they are plain u16. */

#ifdef __LITTLE_ENDIAN
enum { OL_LO = 0, OL_HI = 1, OL_BYTE = 0 };
#else
enum { OL_LO = 1, OL_HI = 0, OL_BYTE = 3 };
#endif
#define OL_HALF(p, half)	((u16 *)(p) + (half))
#define OL_HALF_CONST(p, half)	((const u16 *)(p) + (half))

#define ol_load_lo_relaxed(p)		READ_ONCE(*OL_HALF_CONST(p, OL_LO))
#define ol_load_lo_acquire(p)		smp_load_acquire(OL_HALF_CONST(p, OL_LO))
#define ol_load_hi_relaxed(p)		READ_ONCE(*OL_HALF_CONST(p, OL_HI))
#define ol_load_hi_acquire(p)		smp_load_acquire(OL_HALF_CONST(p, OL_HI))
#define ol_store_lo_relaxed(p, v)	WRITE_ONCE(*OL_HALF(p, OL_LO), v)
#define ol_store_lo_release(p, v)	smp_store_release(OL_HALF(p, OL_LO), v)
#define ol_store_hi_relaxed(p, v)	WRITE_ONCE(*OL_HALF(p, OL_HI), v)
#define ol_store_hi_release(p, v)	smp_store_release(OL_HALF(p, OL_HI), v)
#define ol_xchg_lo_acquire(p, v)	xchg_acquire(OL_HALF(p, OL_LO), v)
#define ol_xchg_lo_release(p, v)	xchg_release(OL_HALF(p, OL_LO), v)
#define ol_xchg_lo_acq_rel(p, v)	xchg(OL_HALF(p, OL_LO), v)
#define ol_xchg_hi_acquire(p, v)	xchg_acquire(OL_HALF(p, OL_HI), v)
#define ol_xchg_hi_release(p, v)	xchg_release(OL_HALF(p, OL_HI), v)
#define ol_xchg_hi_acq_rel(p, v)	xchg(OL_HALF(p, OL_HI), v)
#define ol_cas_lo_relaxed(p, old, v)	ol_cas_relaxed(OL_HALF(p, OL_LO), old, v)
#define ol_cas_lo_acquire(p, old, v)	ol_cas_acquire(OL_HALF(p, OL_LO), old, v)
#define ol_cas_lo_release(p, old, v)	ol_cas_release(OL_HALF(p, OL_LO), old, v)
#define ol_cas_hi_relaxed(p, old, v)	ol_cas_relaxed(OL_HALF(p, OL_HI), old, v)
#define ol_cas_hi_acquire(p, old, v)	ol_cas_acquire(OL_HALF(p, OL_HI), old, v)
#define ol_cas_hi_release(p, old, v)	ol_cas_release(OL_HALF(p, OL_HI), old, v)
#define ol_cas_hi_acq_rel(p, old, v)	ol_cas_acq_rel(OL_HALF(p, OL_HI), old, v)
#define ol_add_lo_relaxed(p, n)		ol_add_relaxed(OL_HALF(p, OL_LO), n)
#define ol_add_lo_release(p, n)		ol_add_release(OL_HALF(p, OL_LO), n)
#define ol_add_hi_relaxed(p, n)		ol_add_relaxed(p, (u32)(n) << 16)
#define ol_add_hi_acquire(p, n)		ol_add_acquire(p, (u32)(n) << 16)
#define ol_store_byte_release(p, v)	smp_store_release(((u8 *)(p) + OL_BYTE), v)

/* The world state: one per kernel. */

struct ol_world {
	struct ol_tuning tuning; /* times in ticks */
};

#define OL_NODE_OWN	\
	u32 number;	\
	u32 taken;
#include <overlock/port/node.h>

extern struct ol_world ol_world;
extern u64 ol_wait_array[OL_WAIT_SLOTS]; /* beside it: an image has room for it, not its zeros */

u32 ol_self(void);
struct ol_node *ol_node_get(void);
void ol_node_put(struct ol_node *node);
u32 ol_node_number(const struct ol_node *node);
struct ol_node *ol_node_at(u32 number);
void ol_park(const u32 *word, u32 seen, u32 key, ol_ticks_t until);
void ol_kick(const u32 *word, u32 key, int n);

/* A CPU without work is idle, and says so to nobody. */
static inline void ol_compete(u32 *word)
{
}

static inline void ol_leave(void)
{
}

bool ol_is_preempted(u32 id);
void ol_yield(void); /* of the virtual CPU: a waiter for a spinlock may not schedule */
void ol_yield_to(u32 id);
void ol_yield_until(ol_ticks_t t);
void ol_count_event(unsigned int event);
void ol_count_event_at(unsigned int event, unsigned int n);
void overlock_polled(void); /* counting: by ol_relax() */

#define ol_tune(name)	READ_ONCE(ol_world.tuning.name)

static inline u64 *ol_wait_slot(size_t i)
{
	return &ol_wait_array[i & (ol_tune(wait_slots) - 1)];
}

/* Waiting and time. */

static inline void ol_relax(void)
{
	cpu_relax();
#ifdef OL_COUNTED
	overlock_polled();
#endif
}

static inline void ol_relax_until(ol_ticks_t t)
{
	ol_relax();
}

static inline ol_ticks_t ol_now(void)
{
	return sched_clock();
}

static inline bool ol_before(ol_ticks_t a, ol_ticks_t b)
{
	return a < b; /* 64 bits of ns do not wrap in a century */
}

static inline ol_ticks_t ol_earlier(ol_ticks_t a, ol_ticks_t b)
{
	return a < b ? a : b;
}

static inline bool ol_passed(ol_ticks_t t)
{
	return t != OL_NEVER && ol_now() >= t;
}

static inline ol_ticks_t ol_later(ol_ticks_t t, u64 n, ol_ticks_t d)
{
	ol_ticks_t span, later;

	if (d == OL_NEVER || __builtin_mul_overflow(n, d, &span) ||
	    __builtin_add_overflow(t, span, &later))
		return OL_NEVER;
	return later;
}

static inline ol_ticks_t ol_after(u64 n, ol_ticks_t d)
{
	return ol_later(ol_now(), n, d);
}

/* Nobody to ask for a longer slice. */

static inline void ol_defer_begin(void)
{
}

static inline void ol_defer_end(void)
{
}

/*
 * What the hypervisor tells of slices: guest/linux/kernel/locking/overlock/slice.c. Where it tells
 * nothing, asking costs a look at a word that never changes. Not a static key: it would be patched
 * while all CPUs run through it, and under QEMU's translation some were seen to meet the patching's
 * breakpoint after its end. A module in somebody else's kernel has nobody to ask.
 */
#ifdef CONFIG_OVERLOCK_SPINLOCKS
extern bool ol_slices_told;
u64 ol_slice_id_told(void);
ol_ticks_t ol_slice_end_told(void);
ol_ticks_t ol_slice_min_told(void);
#define OL_SLICE_TOLD(what, unknown)	\
	(unlikely(READ_ONCE(ol_slices_told)) ? ol_slice_##what##_told() : (unknown))
#else
#define OL_SLICE_TOLD(what, unknown)	(unknown)
#endif

static inline u64 ol_slice_id(void)
{
	return OL_SLICE_TOLD(id, 0);
}

static inline ol_ticks_t ol_slice_end(void)
{
	return OL_SLICE_TOLD(end, OL_NEVER);
}

static inline ol_ticks_t ol_slice_min(void)
{
	return OL_SLICE_TOLD(min, OL_NEVER);
}

/* What the waits have taught this CPU of the lengths of sections; beside the slices, which need them. */
#ifdef CONFIG_OVERLOCK_SPINLOCKS
void ol_csd_learn(ol_ticks_t since, unsigned int n);
ol_ticks_t ol_csd(void);
#else
static inline void ol_csd_learn(ol_ticks_t since, unsigned int n)
{
}

static inline ol_ticks_t ol_csd(void)
{
	return 0;
}
#endif

static inline struct ol_crowd *ol_crowd(void)
{
	return NULL;
}

static inline ol_ticks_t ol_quota_end(void)
{
	return OL_NEVER;
}

static inline u32 ol_cpu(void)
{
	return raw_smp_processor_id();
}

/* No transactions: the kernel does not use RTM. */

static inline bool ol_htm_works(void)
{
	return false;
}

static inline unsigned int ol_htm_begin(void)
{
	return 0;
}

static inline void ol_htm_commit(void)
{
}

static inline void ol_htm_abort(void)
{
}

static inline bool ol_htm_active(void)
{
	return false;
}

static inline void ol_htm_set_owner(const void *p)
{
}

static inline const void *ol_htm_owner(void)
{
	return NULL;
}

/* Counting. */

#ifdef OL_COUNTED
#define ol_count(event)		ol_count_event(event)
#define ol_count_at(event, n)	ol_count_event_at(event, n)
#else
#define ol_count(event)		((void)(event))
#define ol_count_at(event, n)	((void)(event), (void)(n))
#endif
#endif
