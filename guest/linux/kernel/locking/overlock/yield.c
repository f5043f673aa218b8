// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Giving away a virtual CPU that waits for a spinlock; only its hypervisor can be asked.
 *
 *	kvm	runs another virtual CPU of this guest instead, if that one waits for a real CPU
 *	xen	runs the next virtual CPU
 *	relax	PAUSE; a loop of it may leave the guest by itself
 *
 * KVM cannot be asked for just anybody: there ol_yield() is PAUSE, too.
 */
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kvm_para.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <asm/xen/hypercall.h>
#include <xen/interface/sched.h>
#include <xen/xen.h>
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

void ol_yield_to(u32 id)
{
	if (way == KVM && id)
		kvm_hypercall1(KVM_HC_SCHED_YIELD, per_cpu(x86_cpu_to_apicid, overlock_cpu_of(id)));
	else
		ol_yield();
}

static int __init choose_way(void)
{
	if (!static_key_enabled(&overlock_chosen))
		return 0; /* nobody will ask */
	if (xen_domain())
		way = XEN;
	else if (kvm_para_available() && kvm_para_has_feature(KVM_FEATURE_PV_SCHED_YIELD))
		way = KVM;
	return 0;
}
early_initcall(choose_way);
