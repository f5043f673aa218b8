/* SPDX-License-Identifier: MIT */
/* As much of a kernel as slice_kvm.c, slice_xen.c and csd.c ask for, with a clock that the test sets. */
#ifndef STUBS_H
#define STUBS_H
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64, ol_ticks_t;
typedef int64_t s64;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint16_t u16;
typedef uint8_t u8;

#define OL_NEVER	UINT64_MAX
#define NSEC_PER_MSEC	1000000

extern u64 the_time; /* ns */
extern unsigned int tsc_khz;

#define ol_now()			the_time
#define rdtsc()				(the_time * tsc_khz / 1000000)
#define READ_ONCE(x)			(*(volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)		(*(volatile __typeof__(x) *)&(x) = (v))
#define smp_load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define mul_u64_u64_div_u64(a, b, c)	((u64)((unsigned __int128)(a) * (b) / (c)))

/* One CPU. */
#define DEFINE_PER_CPU(type, name)	__typeof__(type) name
#define raw_cpu_ptr(p)			(p)
#define raw_cpu_read(name)		(name)
#define this_cpu_write(name, v)		((name) = (v))
#define preempt_disable()		((void)0)
#define preempt_enable()		((void)0)

#define EXPORT_SYMBOL_GPL(name)		_Static_assert(1, #name)
#define device_initcall(f)		int (*const initcall_##f)(void) = (f)
#define __init
#define __percpu
#define __va(a)				((const void *)(uintptr_t)(a))

/* KVM's. */
struct kvm_steal_time {
	u64 steal;
	u32 version;
	u32 flags;
	u8 preempted;
	u8 u8_pad[3];
	u32 pad[11];
};

enum { MSR_KVM_STEAL_TIME = 0, KVM_MSR_ENABLED = 1, KVM_FEATURE_STEAL_TIME = 5 };
enum { CPUHP_AP_ONLINE_DYN };
extern u64 steal_time_msr;
extern bool has_feature_31; /* of the hypervisor */
#define rdmsr_safe(msr, low, high)	(*(low) = steal_time_msr, *(high) = steal_time_msr >> 32, 0)
#define kvm_para_available()		true
#define kvm_para_has_feature(f)		((f) != 31 || has_feature_31)
#define cpuhp_setup_state(state, name, up, down) ((void)(down), (up)(0))

/* Xen's. */
struct pvclock_vcpu_time_info {
	u64 now;
};

struct vcpu_info {
	struct {
		unsigned long cr2, pad;
	} arch;
	struct pvclock_vcpu_time_info time;
};

extern struct vcpu_info *xen_vcpu;
#define pvclock_clocksource_read(info)	((info)->now)
#define xen_pv_domain()			true
#define xen_feature(f)			has_feature_31
#endif
