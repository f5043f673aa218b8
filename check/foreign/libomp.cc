// SPDX-License-Identifier: MIT
// LLVM OpenMP's locks; the kind, one of its five, by --cflags -DOL_KIND=tas and the like. Its waiting loops
// are in our words, and so is its allocator, which gives memory that is zero where it was asked for and unknown
// beyond. KMP_MB() is nothing, as on x86, or with -DOL_WEAK a fence, as on other machines.
// brings: openmp/runtime/src/kmp_lock.h openmp/runtime/src/kmp_lock.cpp
// replaces: (?s)// Do not allocate objects of type union kmp_user_lock.*\Z => } // extern "C"\n#endif
// replaces: (?s)static const ident_t \*__kmp_get_drdpa_lock_location.*\Z =>
#include <overlock/checked.h>

#include <atomic>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

typedef int8_t kmp_int8;
typedef uint8_t kmp_uint8;
typedef int16_t kmp_int16;
typedef uint16_t kmp_uint16;
typedef int32_t kmp_int32;
typedef uint32_t kmp_uint32;
typedef int64_t kmp_int64;
typedef uint64_t kmp_uint64;
typedef void *kmp_backoff_t;
typedef struct ident ident_t;
typedef struct {
	struct {
		volatile kmp_uint32 th_spin_here;
		volatile kmp_int32 th_next_waiting;
	} th;
} kmp_info_t;
static kmp_info_t threads[16];
#define __kmp_thread_from_gtid(gtid) (&threads[gtid])

#define KMP_USE_FUTEX		1
#define KMP_HAVE_UMWAIT		0
#define KMP_USE_DYNAMIC_LOCK	0
#define KMP_USE_TSX		0
#define KMP_USE_ADAPTIVE_LOCKS	0
#define CACHE_LINE		64
#define KMP_ALIGN_CACHE		__attribute__((aligned(CACHE_LINE)))
#define KMP_BUILD_ASSERT(x)	static_assert(x, "")
#define KMP_ALIGN(bytes)		__attribute__((aligned(bytes)))
#define KMP_PAD(type, size)	(sizeof(type) + (size) - (sizeof(type) - 1) % (size) - 1)
#define KMP_LOCK_BUSY(v, type)	(v)
#define KMP_LOCK_FREE(type)	0
#define KMP_LOCK_STRIP(v)	(v)
#define KMP_PACK_64(high, low)	((kmp_int64)(((kmp_uint64)(high) << 32) | (kmp_uint32)(low)))
#define TRUE			1
#define FALSE			0
#define __forceinline		inline
#define KMP_FATAL(what, ...)	ol_checked_fail("libomp is fatal: " #what)
#define KMP_ASSERT(x)		((x) ? (void)0 : ol_checked_fail("libomp asserts " #x))
#define KMP_ASSERT2(x, what)	KMP_ASSERT(x)
#define KMP_DEBUG_ASSERT(x)	((void)0)
#define KA_TRACE(...)
#define KMP_FSYNC_PREPARE(lock)
#define KMP_FSYNC_ACQUIRED(lock)
#define KMP_FSYNC_RELEASING(lock)
#define KMP_INIT_YIELD(spins)	((void)(spins))
#define KMP_INIT_BACKOFF(time)	((void)(time))
#define __kmp_spin_backoff(backoff)
#define __kmp_spin_backoff_params nullptr
#define KMP_YIELD_OVERSUB_ELSE_SPIN(spins, time) ol_checked_spin_endlessly()
#define KMP_YIELD_OVERSUB()
#define KMP_YIELD(condition)	((void)(condition))
#define KMP_CPU_PAUSE()		ol_checked_spin_endlessly()
#define TCR_4(x)		(x)
#define TCR_8(x)		(x)
#define TCW_4(x, v)		((x) = (v))
#define RCAST(type, x)		reinterpret_cast<type>(x)
#define CCAST(type, x)		const_cast<type>(x)
#ifdef OL_WEAK
#define KMP_MB()		__sync_synchronize()
#else
#define KMP_MB()
#endif
#define KMP_COMPARE_AND_STORE_ACQ32(p, old, v) __sync_bool_compare_and_swap((volatile kmp_uint32 *)(p), old, v)
#define KMP_COMPARE_AND_STORE_REL32	KMP_COMPARE_AND_STORE_ACQ32
#define KMP_COMPARE_AND_STORE_ACQ64(p, old, v) __sync_bool_compare_and_swap((volatile kmp_uint64 *)(p), old, v)
#define KMP_COMPARE_AND_STORE_REL64	KMP_COMPARE_AND_STORE_ACQ64
#define KMP_COMPARE_AND_STORE_RET32(p, old, v) __sync_val_compare_and_swap((volatile kmp_uint32 *)(p), old, v)
#define KMP_XCHG_FIXED32(p, v)		__sync_lock_test_and_set((volatile kmp_uint32 *)(p), v)
#define KMP_ATOMIC_LD_RLX(p)		(p)->load(std::memory_order_relaxed)
#define KMP_ATOMIC_ST_REL(p, v)		(p)->store(v, std::memory_order_release)
#define KMP_ATOMIC_ST_RLX(p, v)		(p)->store(v, std::memory_order_relaxed)
#define KMP_ATOMIC_INC(p)		(p)->fetch_add(1, std::memory_order_acq_rel)

template <typename T> static bool __kmp_atomic_compare_store_acq(std::atomic<T> *p, T old, T v)
{
	return p->compare_exchange_strong(old, v, std::memory_order_acquire,
					  std::memory_order_relaxed);
}

#define KMP_EQ	==
#define KMP_NEQ	!=
#define KMP_WAIT(p, v, op, lock)						\
	({									\
		kmp_uint32 seen;						\
		while (!((seen = __atomic_load_n((p), __ATOMIC_RELAXED)) op (v))) \
			ol_checked_spin_endlessly();				\
		seen;								\
	})
#define KMP_WAIT_PTR(p, v, check, lock)						\
	do {									\
		while (!check(p, v))						\
			ol_checked_spin_endlessly();				\
	} while (0)

/* Threads that libomp has, and CPUs; with -DOL_GROWS, there are more threads from the second acquisition of T1 on. */
static volatile int __kmp_nth = 2, __kmp_avail_proc = 2, __kmp_xproc = 2;

static uint64_t area[64];
static unsigned used;

static void *__kmp_allocate(size_t size)
{
	uint64_t *found = &area[used];

	used += size / sizeof *area + 4;
	for (size_t i = 0; i < size / sizeof *area; i++)
		found[i] = 0;
	return found;
}

static void __kmp_free(void *p)
{
	*(uint64_t *)p = ~0ull;
}

#include "kmp_lock.h"
#include "kmp_lock.cpp"

#ifndef OL_KIND
#define OL_KIND	queuing
#endif
#define OL_JOIN(a, b, c)	a##b##c
#define OL_NAME(a, b, c)	OL_JOIN(a, b, c)
#define OL_LOCK			OL_NAME(kmp_, OL_KIND, _lock_t)
#define OL_CALL(does)		OL_NAME(__kmp_##does##_, OL_KIND, _lock)
#define GTID			((int)ol_checked_self())

static void start(void *o)
{
	memset(area, 0xff, sizeof area);
	OL_CALL(init)((OL_LOCK *)o);
}

static void lock(void *o)
{
#ifdef OL_GROWS
	static int times;
	if (GTID == 1 && ++times == 2)
		__kmp_nth = __kmp_avail_proc + 1;
#endif
	OL_CALL(acquire)((OL_LOCK *)o, GTID);
}

static bool try_to_lock(void *o)
{
	return OL_CALL(test)((OL_LOCK *)o, GTID);
}

static void release(void *o)
{
	OL_CALL(release)((OL_LOCK *)o, GTID);
}

extern "C" const struct ol_checked_lock overlock_checked = {
	.name = "LLVM OpenMP lock",
	.size = sizeof(OL_LOCK),
	.init = start,
	.lock = lock,
	.unlock = release,
	.trylock = try_to_lock,
};
