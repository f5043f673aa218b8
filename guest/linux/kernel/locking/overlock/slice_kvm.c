// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Slices from KVM's steal-time record of each vCPU, if the host says by a bit of CPUID that it tells
 * there when the slice ends: lab/nested of the Overlock project. To another host that is padding.
 *
 * KVM writes a vCPU's record before it enters the guest, so the vCPU that reads its own never
 * sees it half written; only between two looks may it have been off its CPU.
 */
#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/kvm_para.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <asm/msr.h>
#include <asm/tsc.h>
#include "overlock.h"

/* KVM_FEATURE_STEAL_SLICE of the host's patch. */
enum { FEATURE_STEAL_SLICE = 31 };

/* struct kvm_steal_time with the members that this feature adds. */
struct record {
	u64 steal;
	u32 version;
	u32 flags;
	u8 preempted;
	u8 padding[3];
	u32 slice; /* another one whenever the vCPU was off its CPU */
	u64 end;   /* expected, in our TSC; 0: not known */
	u64 sure;  /* until then no other ordinary task of the host takes the CPU */
};

static_assert(offsetof(struct record, version) == offsetof(struct kvm_steal_time, version));
static_assert(offsetof(struct record, slice) == offsetof(struct kvm_steal_time, pad));
static_assert(sizeof(struct record) <= sizeof(struct kvm_steal_time));

enum { ALIGNMENT = 64 }; /* of the record: the MSR's low bits are flags */

/*
 * An end that has passed by so much was none: nobody else wants the CPU, and the host, which saw no
 * need to interrupt us, has not said so. Two ticks at HZ=250.
 */
enum { LATE_NS = 8000000 };

static DEFINE_PER_CPU(const struct record *, records);

static bool read_record(const struct record *there, struct record *copy)
{
	int tries;

	for (tries = 0; tries < 4; tries++) {
		/* The second look at the version is the last. */
		copy->version = smp_load_acquire(&there->version);
		copy->slice = smp_load_acquire(&there->slice); /* likewise */
		copy->end = smp_load_acquire(&there->end);     /* likewise */
		copy->sure = smp_load_acquire(&there->sure);   /* likewise */
		if (copy->version == READ_ONCE(there->version))
			return copy->end;
	}
	return false;
}

static s64 ns_of(s64 cycles)
{
	return cycles < 0 ? -(s64)mul_u64_u64_div_u64(-cycles, 1000000, tsc_khz)
			  : mul_u64_u64_div_u64(cycles, 1000000, tsc_khz);
}

static bool look_at_record(struct overlock_slice *slice)
{
	const struct record *there = raw_cpu_read(records);
	struct record copy;
	u64 tsc;
	ol_ticks_t now;

	if (!there || !read_record(there, &copy))
		return false;
	tsc = rdtsc();
	now = ol_now();
	slice->id = (u64)copy.slice + 1; /* 0 would be unknown */
	slice->end = now + ns_of(copy.end - tsc);
	if (now > slice->end + LATE_NS)
		slice->end = OL_NEVER;
	else if (copy.sure)
		slice->sure = now + ns_of(copy.sure - tsc);
	return true;
}

static const struct overlock_slice_source kvm = {
	.name = "kvm",
	.look = look_at_record,
};

static int found(unsigned int cpu)
{
	u32 low, high;

	if (!rdmsr_safe(MSR_KVM_STEAL_TIME, &low, &high) && low & KVM_MSR_ENABLED)
		this_cpu_write(records, __va(((u64)high << 32 | low) & -(u64)ALIGNMENT));
	return 0;
}

static int gone(unsigned int cpu)
{
	this_cpu_write(records, NULL);
	return 0;
}

/* After KVM's own code, which gives each CPU that comes its record; this CPU has one. */
static int __init find_records(void)
{
	if (!kvm_para_available() || !kvm_para_has_feature(KVM_FEATURE_STEAL_TIME) ||
	    !kvm_para_has_feature(FEATURE_STEAL_SLICE))
		return 0;
	if (cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "overlock/slice", found, gone) < 0)
		return 0;
	overlock_slice_from(&kvm);
	overlock_host_yields();
	return 0;
}
device_initcall(find_records);
