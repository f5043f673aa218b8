// SPDX-License-Identifier: MIT
// Linux's paravirtual qspinlock. pv_wait() halts as under KVM: a kick is kept until the next halt. Spinning
// before a halt only reads, so that one turn is enough.
// brings: kernel/locking/qspinlock.c kernel/locking/mcs_spinlock.h kernel/locking/qspinlock_paravirt.h
// brings: include/asm-generic/qspinlock.h include/asm-generic/qspinlock_types.h
#define CONFIG_PARAVIRT_SPINLOCKS
#include <overlock/foreign/linux.h>
#undef cpu_relax
#define cpu_relax()	ol_checked_spin()
#define SPIN_THRESHOLD	1
#define SMP_CACHE_BYTES	64
#define PAGE_SIZE	64
#define HASH_EARLY	0
#define HASH_ZERO	0
#define ALIGN(x, a)	(((x) + (a) - 1) / (a) * (a))
#define hash_ptr(p, bits)	(((uintptr_t)(p) >> 7) & ((1u << (bits)) - 1))
#define alloc_large_system_hash(name, size, n, scale, flags, bits, mask, low, high)	\
	(*(bits) = 2, (void *)hash_table)
#define lockevent_pv_hop(hops)	((void)0)
static long hash_table[8];
static unsigned kicked[CONFIG_NR_CPUS];

#define pv_wait(p, value)							\
	do {									\
		if (READ_ONCE(*(p)) == (value))					\
			halt();							\
	} while (0)

static void halt(void)
{
	unsigned *mine = &kicked[smp_processor_id()];

	if (!xchg(mine, 0))
		ol_checked_futex_wait(mine, 0, ~0u, false);
}

static void pv_kick(int cpu)
{
	xchg(&kicked[cpu], 1);
	ol_checked_futex_wake(&kicked[cpu], 1, ~0u);
}

#include "qspinlock_types.h"
#include "qspinlock.h"
void __pv_queued_spin_lock_slowpath(struct qspinlock *lock, u32 val);
void __pv_queued_spin_unlock(struct qspinlock *lock);
void __pv_queued_spin_unlock_slowpath(struct qspinlock *lock, u8 locked);
#include "qspinlock.c"

static void start(void *o)
{
	(void)o;
	__pv_init_lock_hash();
}

static void lock(void *o)
{
	struct qspinlock *l = o;
	int val = 0;

	if (!atomic_try_cmpxchg_acquire(&l->val, &val, _Q_LOCKED_VAL))
		__pv_queued_spin_lock_slowpath(l, (u32)val);
}

static bool try_to_lock(void *o)
{
	struct qspinlock *l = o;
	int val = atomic_read(&l->val);

	return !val && atomic_try_cmpxchg_acquire(&l->val, &val, _Q_LOCKED_VAL);
}

static void release(void *o)
{
	__pv_queued_spin_unlock(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Linux pv_qspinlock",
	.size = sizeof(struct qspinlock),
	.init = start,
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
