// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Slices from Xen's vcpu_info of each vCPU, if Xen says there when the slice ends:
 * guest/hypervisor/xen of the Overlock project. Another Xen leaves that word 0.
 *
 * Xen writes it before it lets the vCPU run, so the vCPU that reads its own needs no sequence
 * count.
 */
#include <linux/init.h>
#include <linux/percpu.h>
#include <asm/pvclock.h>
#include <xen/xen.h>
#include <xen/xen-ops.h>
#include <xen/interface/xen.h>
#include "overlock.h"

/* In Xen's system time, ns. */
static u64 slice_end(const struct vcpu_info *info)
{
	return READ_ONCE(info->arch.pad);
}

static bool look_at_info(struct overlock_slice *slice)
{
	struct vcpu_info *info = raw_cpu_read(xen_vcpu);
	u64 end = slice_end(info);

	if (!end)
		return false;
	slice->id = end; /* no two slices of a vCPU end at once */
	slice->end = ol_now() + end - pvclock_clocksource_read(&info->time);
	return true;
}

static const struct overlock_slice_source xen = {
	.name = "xen",
	.look = look_at_info,
};

static int __init find_info(void)
{
	if (xen_pv_domain() && slice_end(raw_cpu_read(xen_vcpu)))
		overlock_slice_from(&xen);
	return 0;
}
device_initcall(find_info);
