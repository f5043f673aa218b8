/* SPDX-License-Identifier: MIT */
// brings: include/asm-generic/qspinlock.h include/asm-generic/qspinlock_types.h include/asm-generic/mcs_spinlock.h
// brings: kernel/locking/mcs_spinlock.h kernel/locking/qspinlock.h
// brings: include/asm-generic/rqspinlock.h kernel/bpf/rqspinlock.h kernel/bpf/rqspinlock.c
// replaces: (?s)__bpf_kfunc_start_defs\(\);.*\Z =>
/*
 * Linux's resilient qspinlock. A CPU's clock moves by OL_STEP when it has waited in vain: by a second, after which
 * it gives up, or by two milliseconds, after which it looks for a deadlock.
 */
#define CONFIG_QUEUED_SPINLOCKS
#include <overlock/foreign/linux.h>

#include <errno.h>

#define NSEC_PER_SEC	1000000000ull
#define NSEC_PER_MSEC	1000000ull
#ifndef OL_STEP
#define OL_STEP		NSEC_PER_SEC
#endif
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < 3; (cpu)++)

static u64 ol_clocks[16];

static u64 ktime_get_mono_fast_ns(void)
{
	return ol_clocks[smp_processor_id()];
}

#undef atomic_cond_read_relaxed
#define atomic_cond_read_relaxed(v, cond)	res_smp_cond_load_acquire(&(v)->counter, cond)
/* What it has written since its last turn ends a turn at once: the second is the one that waits. */
#define res_smp_cond_load_acquire(p, cond)					\
	({									\
		__typeof__(p) ol_r = (p);					\
		__typeof__(*ol_r) VAL;						\
		while (VAL = smp_load_acquire(ol_r), !(cond)) {			\
			ol_checked_spin();					\
			if (READ_ONCE(*ol_r) != VAL)				\
				continue;					\
			ol_checked_spin();					\
			if (READ_ONCE(*ol_r) == VAL)				\
				ol_clocks[smp_processor_id()] += OL_STEP;	\
		}								\
		VAL;								\
	})
#include "qspinlock_types.h"
#include "include/asm-generic/qspinlock.h"
#include "include/asm-generic/mcs_spinlock.h"
#include "kernel/locking/mcs_spinlock.h"
#include "kernel/locking/qspinlock.h"
#include "include/asm-generic/rqspinlock.h"
#include "kernel/bpf/rqspinlock.h"
#include "rqspinlock.c"

/* An acquisition that timed out is tried again once the lock is free. */
static inline void take(rqspinlock_t *l)
{
	while (res_spin_lock(l))
		smp_cond_load_relaxed(&l->locked, !VAL);
}
