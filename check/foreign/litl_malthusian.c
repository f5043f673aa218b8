// SPDX-License-Identifier: MIT
// Dice's Malthusian MCS lock, as LiTL has it, without its mutex for condition variables. A release takes a
// passive waiter when a random number is 0: each time with -DOL_FAIR, as for any seed in some execution.
// brings: include/malthusian.h src/malthusian.c
// replaces: return v & \(UNLOCK_COUNT_THRESHOLD - 1\); => return OL_RANDOM;
#include <overlock/checked.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OL_FAIR
#define OL_RANDOM	0
#else
#define OL_RANDOM	1
#endif
#define COND_VAR	0
#define CACHE_LINE_SIZE	64
#define L_CACHE_LINE_SIZE CACHE_LINE_SIZE
#define pad_to_cache_line(size)	(CACHE_LINE_SIZE - (size) % CACHE_LINE_SIZE)
#define COMPILER_BARRIER()	__asm__ volatile("" ::: "memory")
#define CPU_PAUSE()		ol_checked_spin_endlessly()
#define DPRINT_LITL(...) /* its name in the copy of others */
#define DEBUG(...)
#define UNUSED(x)		x
#define xchg_64(p, v)		__atomic_exchange_n((void *volatile *)(p), (v), __ATOMIC_SEQ_CST)
#define alloc_cache_align(size)	NULL
__thread unsigned cur_thread_id;
#define LOCKED			0
#define UNLOCKED		1

static inline void waiting_policy_sleep(volatile int *var)
{
	while (*var == LOCKED)
		CPU_PAUSE();
}

static inline void waiting_policy_wake(volatile int *var)
{
	*var = UNLOCKED;
}
#include "malthusian.h"
#include "malthusian.c"

static malthusian_node_t nodes[16];

static void lock(void *o)
{
	malthusian_mutex_lock(o, &nodes[ol_checked_self()]);
}

static bool try_to_lock(void *o)
{
	return malthusian_mutex_trylock(o, &nodes[ol_checked_self()]) == 0;
}

static void release(void *o)
{
	malthusian_mutex_unlock(o, &nodes[ol_checked_self()]);
}

const struct ol_checked_lock overlock_checked = {
	.name = "LiTL Malthusian MCS",
	.size = sizeof(malthusian_mutex_t),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
