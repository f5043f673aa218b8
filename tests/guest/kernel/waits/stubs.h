/* SPDX-License-Identifier: MIT */
/* As much of a kernel as yield.c and counting.c ask for: one CPU, and a clock and a hypervisor that the test sets. */
#ifndef STUBS_H
#define STUBS_H
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64, ol_ticks_t;
typedef int64_t s64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
typedef unsigned long ulong;

#define CONFIG_XEN		1
#define CONFIG_OVERLOCK_COUNT	1
#define OL_NEVER		UINT64_MAX

/* What the test sets. */
extern struct world {
	u64 time; /* ns */
	u64 slice;
	bool steal_is_told, irqs_disabled, in_interrupt, idle, tick_stopped, kvm, xen;
} world;

/* What was done. */
extern struct done {
	unsigned int halts, relaxes, kvm_calls, xen_calls;
	unsigned long called;
} done;

enum { OL_ACQUIRE, OL_TRY_FAIL, OL_LWP, OL_LHP, OL_STALL, OL_STALL_HELD, OL_STALL_FREE, EVENTS };
extern unsigned int counts[EVENTS];
#define ol_count(event)		(counts[event]++)

#define ol_now()		world.time
#define ol_passed(t)		((s64)(world.time - (t)) >= 0)
#define ol_slice_id()		world.slice
#define READ_ONCE(x)		(*(volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define barrier()		__asm__ volatile("" ::: "memory")

#define DEFINE_PER_CPU(type, name)	__typeof__(type) name
#define per_cpu(name, cpu)	(*((void)(cpu), &(name)))
#define this_cpu_ptr(p)		(p)
#define this_cpu_read(name)	(name)
#define this_cpu_write(name, v)	((name) = (v))
#define this_cpu_add(name, v)	((name) += (v))
#define for_each_online_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define for_each_possible_cpu(cpu)	for_each_online_cpu(cpu)
#define raw_smp_processor_id()	0

#define __init
#define __percpu
#define __ro_after_init
#define module_param(name, type, mode)	_Static_assert(1, #name)
#define EXPORT_SYMBOL_GPL(name)	_Static_assert(1, #name)
#define MODULE_PARM_DESC(name, what)	_Static_assert(1, what)
#define early_initcall(f)	int (*const initcall_##f)(void) = (f)

struct seq_file;
#define seq_printf(out, ...)	((void)(out), (void)printf(__VA_ARGS__))
#define seq_puts(out, text)	((void)(out), (void)(text))
#define seq_putc(out, c)	((void)(out), (void)(c))

extern bool overlock_chosen, paravirt_steal_enabled;
#define static_key_enabled(key)	(*(key) || world.steal_is_told)
#define paravirt_steal_clock(cpu)	((u64)(cpu))

/* The CPU's. */
#define halt()			(done.halts++)
#define cpu_relax()		(done.relaxes++)
#define irqs_disabled()		world.irqs_disabled
#define in_task()		(!world.in_interrupt)
#define is_idle_task(task)	world.idle
#define current			NULL
#define tick_nohz_tick_stopped()	world.tick_stopped

/* The hypervisors'. */
enum { KVM_HC_SCHED_YIELD = 11, KVM_FEATURE_PV_SCHED_YIELD = 13, SCHEDOP_yield = 0 };
enum { APIC_ID = 42 };
static const unsigned long x86_cpu_to_apicid = APIC_ID;
#define kvm_para_available()	world.kvm
#define kvm_para_has_feature(f)	true
#define kvm_hypercall1(what, cpu)	(done.kvm_calls++, done.called = (cpu))
#define xen_domain()		world.xen
#define HYPERVISOR_sched_op(what, argument)	(done.xen_calls++)
#endif
