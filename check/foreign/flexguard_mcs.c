// SPDX-License-Identifier: MIT
// FlexGuard, and its condition variable. Its two instructions in assembler are GCC's builtins here. The
// scheduler's half is ours: a holder is off its CPU from after its acquisition until before its release, as the
// count says that waiters look at; with -DOL_ON_CPU never.
// brings: include/flexguard_bpf.h include/flexguard.h src/flexguard.c
// replaces: (?s)register int expect __asm__\("rax"\) = 0;\s*__asm__ volatile\("lock cmpxchgl[^;]*; => int expect = __sync_val_compare_and_swap(&the_lock->lock_value, 0, 1);
// replaces: (?s)register flexguard_qnode_ptr pred __asm__\("rcx"\) = qnode; => flexguard_qnode_ptr pred;
// replaces: (?s)__asm__ volatile\("xchgq[^;]*; => pred = __atomic_exchange_n(&the_lock->queue, qnode, __ATOMIC_SEQ_CST);
// replaces: (?s)static inline flexguard_qnode_ptr get_me\(\)\n\{.*?\n\}\n => static inline flexguard_qnode_ptr get_me(void) { return &qnode_allocation_array[ol_checked_self()]; }\n
// replaces: (?s)int flexguard_init\(.*?\n\}\n =>
#include <overlock/checked.h>

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#define HYBRID_MCS
#define CONDVARS_BLOCK
#define CACHE_LINE_SIZE	64
#define UNLIKELY(x)	(x)
#define PAUSE		ol_checked_spin_endlessly()
#define MEM_BARRIER	__sync_synchronize()
#define DASSERT(x)
#define futex_wait(p, v) syscall(SYS_futex, (p), FUTEX_WAIT_PRIVATE, (v), NULL, NULL, 0)
#define futex_wake(p, n) syscall(SYS_futex, (p), FUTEX_WAKE_PRIVATE, (n), NULL, NULL, 0)
#include "flexguard_bpf.h"
#include "flexguard.h"
#include "flexguard.c"

static flexguard_qnode_t nodes[16];
static num_preempted_cs_t preempted;

struct pair {
	flexguard_lock_t lock;
	flexguard_cond_t cond;
};

static void start(void *o)
{
	num_preempted_cs = &preempted;
	qnode_allocation_array = nodes;
	flexguard_cond_init(&((struct pair *)o)->cond);
}

static void leaves_cpu(int by)
{
#ifndef OL_ON_CPU
	__sync_fetch_and_add(&preempted, by);
#endif
}

static void lock(void *o)
{
	flexguard_lock(o);
	leaves_cpu(1);
}

static bool try_to_lock(void *o)
{
	if (flexguard_trylock(o))
		return false;
	leaves_cpu(1);
	return true;
}

static void release(void *o)
{
	leaves_cpu(-1);
	flexguard_unlock(o);
}

static void wait(void *o)
{
	leaves_cpu(-1);
	flexguard_cond_wait(&((struct pair *)o)->cond, o);
	leaves_cpu(1);
}

static void wake_one(void *o)
{
	flexguard_cond_signal(&((struct pair *)o)->cond);
}

static void wake_all(void *o)
{
	flexguard_cond_broadcast(&((struct pair *)o)->cond);
}

const struct ol_checked_lock overlock_checked = {
	.name = "FlexGuard",
	.size = sizeof(struct pair),
	.init = start,
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
	.wait = wait,
	.signal = wake_one,
	.broadcast = wake_all,
};
