/* SPDX-License-Identifier: MIT */
#ifndef OVERLOCK_FOREIGN_LINUX_H
#define OVERLOCK_FOREIGN_LINUX_H
/*
 * Linux's atomics, barriers and per-CPU variables for texts of its kernel/locking, in our words: a context
 * is a CPU. Operations without a suffix have a full fence on both sides, as Linux's memory model says; a
 * compare-exchange that fails has them too, which is more than it promises, and so are smp_rmb() and smp_wmb().
 */
#include <overlock/checked.h>

#include <stddef.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef struct {
	int counter;
} atomic_t;
typedef struct {
	long counter;
} atomic64_t, atomic_long_t;

#define __LITTLE_ENDIAN_BITFIELD
#ifndef __LITTLE_ENDIAN
#define __LITTLE_ENDIAN	1234
#endif
#define likely(x)	(x)
#define unlikely(x)	(x)
#define __always_inline	inline
#define __lockfunc
#define __visible
#define __sched
#define __pure
#define __init
#define __initdata
#define __read_mostly
#define early_param(...)
#define noinline	__attribute__((noinline))
#define asmlinkage
#define EXPORT_SYMBOL(x)
#define EXPORT_SYMBOL_GPL(x)
#define IS_ENABLED(x)	0
#define BUILD_BUG_ON(x)	_Static_assert(!(x), #x)
#define BUG_ON(x)	do { if (x) ol_checked_fail("BUG: " #x); } while (0)
#define BUG()		ol_checked_fail("BUG")
#define WARN_ON(x)	({ int ol_warns = !!(x); if (ol_warns) ol_checked_fail("WARNING: " #x); ol_warns; })
#define WARN_ON_ONCE(x)	WARN_ON(x)
#define debug_locks_silent	0
#define WARN(x, ...)	WARN_ON(x)
#define ATOMIC_INIT(i)	{ (i) }
#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))
#define min(a, b)	((a) < (b) ? (a) : (b))
#define max(a, b)	((a) > (b) ? (a) : (b))

/*
 * Address dependencies: whatever follows a load of a pointer, or a relaxed exchange, comes after it. Linux
 * promises that only for accesses through what was found.
 */
#define OL_LINUX_DEPENDS(x)	(__builtin_classify_type(x) == 5 ? __ATOMIC_CONSUME : __ATOMIC_RELAXED)
#define READ_ONCE(x)		__atomic_load_n(&(x), OL_LINUX_DEPENDS(x))
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define smp_store_mb(x, v)	do { WRITE_ONCE(x, v); smp_mb(); } while (0)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()		smp_mb()
#define smp_wmb()		smp_mb()
#define smp_mb__before_atomic()	smp_mb()
#define smp_mb__after_atomic()	smp_mb()
#define smp_mb__after_spinlock() smp_mb()
#define smp_acquire__after_ctrl_dep() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define barrier()		__asm__ volatile("" ::: "memory")

#define cpu_relax()		ol_checked_spin_endlessly()
#define prefetchw(p)		((void)(p))
#define smp_processor_id()	((int)ol_checked_self() - 1)
#define raw_smp_processor_id()	smp_processor_id()
#define num_possible_cpus()	15
#define preempt_disable()	((void)0)
#define preempt_enable()	((void)0)
#define in_nmi()		0
#define in_hardirq()		0
#define in_interrupt()		0

/* A template for each variable, in a section of its own, and a copy of all for each CPU. */
#define CONFIG_NR_CPUS		15
#define OL_LINUX_PER_CPU	__attribute__((section("ol_per_cpu"), aligned(64)))
#define DEFINE_PER_CPU(type, name)		OL_LINUX_PER_CPU __typeof__(type) name
#define DEFINE_PER_CPU_ALIGNED(type, name)	OL_LINUX_PER_CPU __typeof__(type) name
#define DEFINE_PER_CPU_SHARED_ALIGNED(type, name) OL_LINUX_PER_CPU __typeof__(type) name
#define DECLARE_PER_CPU_ALIGNED(type, name)	extern OL_LINUX_PER_CPU __typeof__(type) name
extern char __start_ol_per_cpu[] __attribute__((visibility("hidden")));
static char ol_linux_areas[CONFIG_NR_CPUS + 1][1024] __attribute__((aligned(64)));
#define per_cpu_ptr(p, cpu)	((__typeof__(p))(ol_linux_areas[(cpu) + 1] + ((char *)(p) - __start_ol_per_cpu)))
#define per_cpu(name, cpu)	(*per_cpu_ptr(&(name), cpu))
#define this_cpu_ptr(p)		per_cpu_ptr(p, smp_processor_id())
#define __this_cpu_dec(x)	((*this_cpu_ptr(&(x)))--)
#define this_cpu_dec(x)		__this_cpu_dec(x)
#define this_cpu_inc_return(x)	(++*this_cpu_ptr(&(x)))
#define this_cpu_write(x, v)	(*this_cpu_ptr(&(x)) = (v))
#define __percpu
#define __aligned(n)	__attribute__((aligned(n)))

#define smp_cond_load_relaxed(p, cond)						\
	({									\
		__typeof__(p) ol_p = (p);					\
		__typeof__(*ol_p) VAL;						\
		while (VAL = READ_ONCE(*ol_p), !(cond))				\
			cpu_relax();						\
		VAL;								\
	})
#define smp_cond_load_acquire(p, cond)						\
	({									\
		__typeof__(p) ol_q = (p);					\
		__typeof__(*ol_q) VAL;						\
		while (VAL = smp_load_acquire(ol_q), !(cond))			\
			cpu_relax();						\
		VAL;								\
	})
#define atomic_cond_read_acquire(v, c)	smp_cond_load_acquire(&(v)->counter, (c))
#define atomic_cond_read_relaxed(v, c)	smp_cond_load_relaxed(&(v)->counter, (c))

#define OL_LINUX_CAS(p, old, new, order)					\
	({									\
		__typeof__(*(p)) ol_old = (__typeof__(*(p)))(old);		\
		__atomic_compare_exchange_n((p), &ol_old, (__typeof__(*(p)))(new), 0, (order), \
			__ATOMIC_RELAXED);					\
		ol_old;								\
	})
/* Between full fences. */
#define OL_LINUX_FULLY(x)							\
	({									\
		smp_mb();							\
		__typeof__(x) ol_found = (x);					\
		smp_mb();							\
		ol_found;							\
	})
#define cmpxchg(p, old, new)		OL_LINUX_FULLY(cmpxchg_relaxed(p, old, new))
#define cmpxchg_acquire(p, old, new)	OL_LINUX_CAS(p, old, new, __ATOMIC_ACQUIRE)
#define cmpxchg_release(p, old, new)	OL_LINUX_CAS(p, old, new, __ATOMIC_RELEASE)
#define cmpxchg_relaxed(p, old, new)	OL_LINUX_CAS(p, old, new, __ATOMIC_RELAXED)
#define xchg(p, v)		OL_LINUX_FULLY(xchg_relaxed(p, v))
#define xchg_acquire(p, v)	__atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define xchg_release(p, v)	__atomic_exchange_n((p), (v), __ATOMIC_RELEASE)
#define xchg_relaxed(p, v)	__atomic_exchange_n((p), (v), __ATOMIC_CONSUME)

#define atomic_read(v)			READ_ONCE((v)->counter)
#define atomic_read_acquire(v)		smp_load_acquire(&(v)->counter)
#define atomic_set(v, i)		WRITE_ONCE((v)->counter, (i))
#define atomic_set_release(v, i)	smp_store_release(&(v)->counter, (i))

/* Each in three orders, as Linux names them, and the one without a name. */
#define OL_LINUX_ORDERS(D)							\
	D(_fully, __ATOMIC_RELAXED)							\
	D(_acquire, __ATOMIC_ACQUIRE)						\
	D(_release, __ATOMIC_RELEASE)						\
	D(_relaxed, __ATOMIC_RELAXED)
#define OL_LINUX_ATOMICS_OF(atomic, type, suffix, order)					\
	static inline type atomic##_add_return##suffix(type i, atomic##_t *v)			\
	{										\
		return __atomic_fetch_add(&v->counter, i, order) + i;			\
	}										\
	static inline type atomic##_sub_return##suffix(type i, atomic##_t *v)			\
	{										\
		return __atomic_fetch_sub(&v->counter, i, order) - i;			\
	}										\
	static inline type atomic##_fetch_add##suffix(type i, atomic##_t *v)			\
	{										\
		return __atomic_fetch_add(&v->counter, i, order);			\
	}										\
	static inline type atomic##_fetch_or##suffix(type i, atomic##_t *v)			\
	{										\
		return __atomic_fetch_or(&v->counter, i, order);			\
	}										\
	static inline type atomic##_fetch_and##suffix(type i, atomic##_t *v)			\
	{										\
		return __atomic_fetch_and(&v->counter, i, order);			\
	}										\
	static inline type atomic##_xchg##suffix(atomic##_t *v, type i)			\
	{										\
		return __atomic_exchange_n(&v->counter, i, order);			\
	}										\
	static inline type atomic##_cmpxchg##suffix(atomic##_t *v, type old, type new_)	\
	{										\
		__atomic_compare_exchange_n(&v->counter, &old, new_, 0, order,		\
					    __ATOMIC_RELAXED);				\
		return old;								\
	}										\
	static inline bool atomic##_try_cmpxchg##suffix(atomic##_t *v, type *old, type new_)	\
	{										\
		type was = *old;								\
		bool done = __atomic_compare_exchange_n(&v->counter, &was, new_, 0, order, \
							__ATOMIC_RELAXED);		\
		if (!done)								\
			*old = was;							\
		return done;								\
	}
#define OL_LINUX_ATOMICS(suffix, order)		OL_LINUX_ATOMICS_OF(atomic, int, suffix, order)
#define OL_LINUX_ATOMIC_LONGS(suffix, order)	OL_LINUX_ATOMICS_OF(atomic_long, long, suffix, order)
OL_LINUX_ORDERS(OL_LINUX_ATOMICS)
OL_LINUX_ORDERS(OL_LINUX_ATOMIC_LONGS)
#define atomic_add_return(i, v)	OL_LINUX_FULLY(atomic_add_return_fully(i, v))
#define atomic_sub_return(i, v)	OL_LINUX_FULLY(atomic_sub_return_fully(i, v))
#define atomic_fetch_add(i, v)	OL_LINUX_FULLY(atomic_fetch_add_fully(i, v))
#define atomic_fetch_or(i, v)	OL_LINUX_FULLY(atomic_fetch_or_fully(i, v))
#define atomic_fetch_and(i, v)	OL_LINUX_FULLY(atomic_fetch_and_fully(i, v))
#define atomic_xchg(v, i)	OL_LINUX_FULLY(atomic_xchg_fully(v, i))
#define atomic_cmpxchg(v, old, new)	OL_LINUX_FULLY(atomic_cmpxchg_fully(v, old, new))
#define atomic_try_cmpxchg(v, old, new)	OL_LINUX_FULLY(atomic_try_cmpxchg_fully(v, old, new))

static inline void atomic_add(int i, atomic_t *v)
{
	__atomic_fetch_add(&v->counter, i, __ATOMIC_RELAXED);
}

static inline void atomic_sub(int i, atomic_t *v)
{
	__atomic_fetch_sub(&v->counter, i, __ATOMIC_RELAXED);
}

static inline void atomic_or(int i, atomic_t *v)
{
	__atomic_fetch_or(&v->counter, i, __ATOMIC_RELAXED);
}

static inline void atomic_andnot(int i, atomic_t *v)
{
	__atomic_fetch_and(&v->counter, ~i, __ATOMIC_RELAXED);
}

#define atomic_long_read(v)		READ_ONCE((v)->counter)
#define atomic_long_set(v, i)		WRITE_ONCE((v)->counter, (i))
#define atomic_long_add_return(i, v)	OL_LINUX_FULLY(atomic_long_add_return_fully(i, v))
#define atomic_long_fetch_add(i, v)	OL_LINUX_FULLY(atomic_long_fetch_add_fully(i, v))
#define atomic_long_add(i, v)		((void)atomic_long_fetch_add_relaxed(i, v))
#define atomic_long_or(i, v)		((void)atomic_long_fetch_or_relaxed(i, v))
#define atomic_long_andnot(i, v)	((void)atomic_long_fetch_and_relaxed(~(i), v))

#define lockevent_inc(event)		((void)0)
#define lockevent_cond_inc(event, c)	((void)(c))
#define lockevent_add(event, n)		((void)(n))
#define trace_contention_begin(...)	((void)0)
#define trace_contention_end(...)	((void)0)
#define debug_locks_off()		0
#endif
