// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * An NMI that unlocks, and so kicks, between the two writes of an IPI: ICR2 must still have the
 * interrupted IPI's destination afterwards. Loading fails where it has not, and where nothing was
 * kicked.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <asm/apic.h>
#include <asm/nmi.h>

enum { DESTINATION = 0x5a, PARKS_AFTER_MS = 50, TRIALS = 20 };

static arch_spinlock_t lock = __ARCH_SPIN_LOCK_UNLOCKED;
static DECLARE_COMPLETION(taken);
static bool waits, armed;
static DEFINE_PER_CPU(unsigned int, nmis);

static int wait_for_lock(void *unused)
{
	unsigned long flags;

	local_irq_save(flags);
	WRITE_ONCE(waits, true);
	arch_spin_lock(&lock);
	arch_spin_unlock(&lock);
	local_irq_restore(flags);
	kthread_complete_and_exit(&taken, 0);
}

static int unlock_in_nmi(unsigned int type, struct pt_regs *regs)
{
	this_cpu_inc(nmis);
	if (!READ_ONCE(armed))
		return NMI_DONE;
	WRITE_ONCE(armed, false);
	arch_spin_unlock(&lock);
	return NMI_HANDLED;
}

/* What ICR2 says after an NMI that comes when half an IPI has been written. */
static u32 interrupted_ipi(void)
{
	unsigned long flags;
	u32 destination;

	local_irq_save(flags);
	native_apic_mem_write(APIC_ICR2, SET_XAPIC_DEST_FIELD(DESTINATION));
	WRITE_ONCE(armed, true);
	asm volatile("int $2" ::: "memory");
	destination = GET_XAPIC_DEST_FIELD(native_apic_mem_read(APIC_ICR2));
	local_irq_restore(flags);
	return destination;
}

/* The waiter is on `cpu`, and parks there. */
static int trial(int cpu, unsigned int *kicks)
{
	struct task_struct *waiter;
	unsigned int before;
	u32 destination;

	WRITE_ONCE(waits, false);
	reinit_completion(&taken);
	waiter = kthread_create(wait_for_lock, NULL, "nmi_kick");
	if (IS_ERR(waiter))
		return PTR_ERR(waiter);
	kthread_bind(waiter, cpu);
	preempt_disable();
	arch_spin_lock(&lock);
	wake_up_process(waiter);
	while (!READ_ONCE(waits))
		cpu_relax();
	mdelay(PARKS_AFTER_MS);
	before = READ_ONCE(per_cpu(nmis, cpu));
	destination = interrupted_ipi();
	preempt_enable();
	wait_for_completion(&taken);
	*kicks += READ_ONCE(per_cpu(nmis, cpu)) - before;
	if (destination == DESTINATION)
		return 0;
	pr_err("nmi_kick: the interrupted IPI goes to %#x instead of %#x\n", destination,
	       DESTINATION);
	return -EIO;
}

static int trials(void)
{
	int i, error, cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	unsigned int kicks = 0;

	for (i = 0; i < TRIALS; i++) {
		error = trial(cpu, &kicks);
		if (error)
			return error;
	}
	pr_info("nmi_kick: %u kicks in %d trials\n", kicks, TRIALS);
	return kicks ? 0 : -ENODATA;
}

static int __init nmi_kick_init(void)
{
	int error;

	if (x2apic_mode) {
		pr_err("nmi_kick: x2APIC writes an IPI at once; boot with nox2apic\n");
		return -ENODEV;
	}
	error = register_nmi_handler(NMI_LOCAL, unlock_in_nmi, 0, "nmi_kick");
	if (error)
		return error;
	migrate_disable();
	error = trials();
	migrate_enable();
	unregister_nmi_handler(NMI_LOCAL, "nmi_kick");
	return error;
}

static void __exit nmi_kick_exit(void)
{
}

module_init(nmi_kick_init);
module_exit(nmi_kick_exit);
MODULE_DESCRIPTION("Does a kick in an NMI leave an interrupted IPI alone?");
MODULE_LICENSE("Dual MIT/GPL");
