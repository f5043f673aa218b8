// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What a spin_lock() and its spin_unlock() take while nobody else wants the lock, in ticks of the
 * processor's counter: the least of many tries, and what the look at the counter takes by itself. QEMU
 * can make a tick one instruction (-icount shift=0). Read /sys/module/overlock_pair/parameters.
 */
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <asm/tsc.h>

static ulong locked, unlocked, nothing;
module_param(locked, ulong, 0444);
MODULE_PARM_DESC(locked, "ticks of a spin_lock()");
module_param(unlocked, ulong, 0444);
MODULE_PARM_DESC(unlocked, "ticks of a spin_unlock()");
module_param(nothing, ulong, 0444);
MODULE_PARM_DESC(nothing, "ticks of nothing: the other two have them, too");

#define TRIES	256

static DEFINE_SPINLOCK(lock);

static int __init pair_init(void)
{
	unsigned long flags;
	uint i;

	locked = ULONG_MAX;
	unlocked = ULONG_MAX;
	nothing = ULONG_MAX;
	for (i = 0; i < TRIES; i++) {
		u64 began, taken, free, over;

		local_irq_save(flags);
		began = rdtsc();
		spin_lock(&lock);
		taken = rdtsc();
		spin_unlock(&lock);
		free = rdtsc();
		over = rdtsc();
		local_irq_restore(flags);
		locked = min(locked, (ulong)(taken - began));
		unlocked = min(unlocked, (ulong)(free - taken));
		nothing = min(nothing, (ulong)(over - free));
	}
	return 0;
}

static void __exit pair_exit(void)
{
}

module_init(pair_init);
module_exit(pair_exit);
MODULE_DESCRIPTION("Ticks of an uncontended spin_lock() and spin_unlock()");
MODULE_LICENSE("Dual MIT/GPL");
