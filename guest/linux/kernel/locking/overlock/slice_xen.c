// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Slices from Xen's vcpu_info of each vCPU, if Xen says by a feature's bit that it tells there when
 * the slice ends: lab/xen of the Overlock project. To another Xen that word is padding.
 *
 * Xen writes it before it lets the vCPU run, so the vCPU that reads its own needs no sequence
 * count.
 */
#include <linux/init.h>
#include <linux/percpu.h>
#include <asm/pvclock.h>
#include <xen/features.h>
#include <xen/xen.h>
#include <xen/xen-ops.h>
#include <xen/interface/xen.h>
#include "overlock.h"

/* XENFEAT_vcpu_slice of Xen's patch. */
enum { FEATURE_VCPU_SLICE = 31 };

/*
 * Bits 63-32: the end in Xen's system time, in 1024 ns. Bits 31-16: by how much the guaranteed part
 * ends sooner, in 16384 ns. Bits 15-0: the slice's number, never 0. All 0: not known.
 */
static u64 told(const struct vcpu_info *info)
{
	return READ_ONCE(info->arch.pad);
}

static bool look_at_info(struct overlock_slice *slice)
{
	struct vcpu_info *info = raw_cpu_read(xen_vcpu);
	u64 word = told(info), now;
	s32 left;

	if (!word)
		return false;
	now = pvclock_clocksource_read(&info->time);
	left = (u32)(word >> 32) - (u32)(now >> 10); /* 1024 ns each: half an hour at most */
	slice->id = word & 0xffff;
	slice->end = ol_now() + (s64)left * 1024 - now % 1024;
	slice->sure = slice->end - ((word >> 16 & 0xffff) << 14);
	return true;
}

static const struct overlock_slice_source xen = {
	.name = "xen",
	.look = look_at_info,
};

static int __init find_info(void)
{
	if (xen_pv_domain() && xen_feature(FEATURE_VCPU_SLICE))
		overlock_slice_from(&xen);
	return 0;
}
device_initcall(find_info);
