// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Giving away a virtual CPU that waits for a spinlock; only its hypervisor can be asked.
 *
 *	kvm	runs another virtual CPU of this guest instead, if that one waits for a CPU;
 *		with the patch of lab/nested, anybody who waits
 *	xen	runs the next virtual CPU
 *	relax	PAUSE; a loop of it may leave the guest by itself
 *
 * KVM as it is cannot be asked for just anybody: there ol_yield() is PAUSE, too. ol_yield_until()
 * then halts until the next interrupt, which is the timer's, where interrupts are enabled.
 */
#include <linux/export.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kvm_para.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/tick.h>
#include <asm/xen/hypercall.h>
#include <xen/interface/sched.h>
#include <xen/xen.h>
#include "counting.h"
#include "overlock.h"

enum way { RELAX, KVM, XEN };

static enum way way __ro_after_init;

const char *overlock_yielding(void)
{
	static const char *const names[] = { "relax", "kvm", "xen" };

	return names[way];
}

static bool xen_yields(void)
{
#ifdef CONFIG_XEN
	if (way == XEN) {
		HYPERVISOR_sched_op(SCHEDOP_yield, NULL);
		return true;
	}
#endif
	return false;
}

void ol_yield(void)
{
	if (!xen_yields())
		cpu_relax();
}
EXPORT_SYMBOL_GPL(ol_yield);

void ol_yield_to(u32 id)
{
	if (way == KVM && id)
		kvm_hypercall1(KVM_HC_SCHED_YIELD, per_cpu(x86_cpu_to_apicid, overlock_cpu_of(id)));
	else
		ol_yield();
}

static bool host_yields __ro_after_init;

void __init overlock_host_yields(void)
{
	host_yields = way == KVM;
}

/* KVM without the patch does nothing for a vCPU that yields to itself. */
static bool kvm_yields(void)
{
	if (!READ_ONCE(host_yields))
		return false;
	kvm_hypercall1(KVM_HC_SCHED_YIELD, per_cpu(x86_cpu_to_apicid, raw_smp_processor_id()));
	return true;
}

/*
 * Does a HLT end soon? With a tick: not while the CPU idles, nor in an interrupt of the idle task,
 * nor on a CPU of nohz_full with one task, for then the tick is stopped. With interrupts disabled
 * only an NMI would end it.
 */
bool overlock_tick_ends_halt(void)
{
	return !irqs_disabled() && in_task() && !is_idle_task(current) && !tick_nohz_tick_stopped();
}

void overlock_give_way(void)
{
	if (!xen_yields() && !kvm_yields())
		cpu_relax();
}

/*
 * An interrupt just before the HLT makes us sleep until the next one, a tick later at most. Later
 * than `t` is late, but the CPU is others' meanwhile.
 */
void ol_yield_until(ol_ticks_t t)
{
	overlock_sleeps();
	if (!xen_yields() && !kvm_yields()) {
		if (overlock_tick_ends_halt() && !ol_passed(t))
			halt();
		else
			cpu_relax();
	}
	overlock_woke();
}

static int __init choose_way(void)
{
	if (xen_domain())
		way = XEN;
	else if (kvm_para_available() && kvm_para_has_feature(KVM_FEATURE_PV_SCHED_YIELD))
		way = KVM;
	return 0;
}
early_initcall(choose_way);
