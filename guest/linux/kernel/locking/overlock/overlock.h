/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OVERLOCK_H
#define OVERLOCK_H
/* What the files of this folder ask of each other. */
#include <overlock/port.h>

/* Of world.c. */

enum { OVERLOCK_LEVELS = 4 }; /* task, softirq, hardirq, NMI */

/* The present level of this CPU; OVERLOCK_LEVELS if one of them was entered twice. */
unsigned int overlock_level(void);

/* The CPU of the context of that id, which is not 0. */
static inline int overlock_cpu_of(u32 id)
{
	return (id - 1) / OVERLOCK_LEVELS;
}

/* Parking where nobody can be woken: look for a while. */
void overlock_poll(const u32 *word, u32 seen, ol_ticks_t until);

/* In the counted kernel: a waiter is in line from now on; what it lost before was no place. */
#ifdef CONFIG_OVERLOCK_COUNT
void overlock_queues(void);
#else
static inline void overlock_queues(void)
{
}
#endif

/* Sums over the CPUs. */
u64 overlock_count(unsigned int event);
u64 overlock_count_at(unsigned int event, unsigned int place);
void overlock_forget_counts(void);

/* Of park.c. */

/* How waiters park, for people. */
const char *overlock_parking(void);

/* Of yield.c. */

/* Whom a waiter asks to take its CPU, for people. */
const char *overlock_yielding(void);

/* An interrupt will come soon, and end a HLT: the tick's. */
bool overlock_tick_ends_halt(void);

/* To whom the hypervisor chooses, if it can be asked; else it is PAUSE. Whatever the context. */
void overlock_give_way(void);

/* The host is KVM with our patch: it lets a vCPU yield to nobody in particular. */
void overlock_host_yields(void);

/* Of slice.c. */

/* The slice that this CPU is in: all by this CPU's ol_now(). */
struct overlock_slice {
	u64 id;		 /* another one whenever the vCPU was off its CPU; 0: unknown */
	ol_ticks_t end;	 /* expected; OL_NEVER: unknown, or none is in sight */
	ol_ticks_t sure; /* guaranteed; OL_NEVER: unknown */
	u64 age;	 /* since the hypervisor said so; 0: unknown */
};

/*
 * Somebody who tells. `look` is called with a slice of which nothing is known, from any context,
 * NMI included; it must take no lock and wait for nobody. False: nothing is known just now.
 */
struct overlock_slice_source {
	const char *name; /* as in overlock.slice= */
	bool (*look)(struct overlock_slice *slice);
	s64 (*clock_moves)(void); /* how good its times are, in ns; or null */
};

/* From an initcall. The first one counts, unless overlock.slice= names another. */
void overlock_slice_from(const struct overlock_slice_source *source);

/* Where it comes from, for people. */
const char *overlock_slices(void);
const struct overlock_slice_source *overlock_slice_source(void);

/* Of slice_looks.c, in the counted kernel. */
void overlock_slice_seen(const struct overlock_slice *slice);
void overlock_slice_unknown(void);
#endif
