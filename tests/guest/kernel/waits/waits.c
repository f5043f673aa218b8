// SPDX-License-Identifier: MIT
/* How a guest's kernel gives its CPU away, and what it counts of those who wait. */
#include "stubs.h"
#include "counting.h"
#include "overlock.h"
#include "times.h"

struct world world = { .time = 1000 };
struct done done;
unsigned int counts[EVENTS];
bool overlock_chosen = true, paravirt_steal_enabled;

extern int (*const initcall_choose_way)(void);
void ol_yield_until(ol_ticks_t t);
void overlock_polled(void);

void overlock_times_add(struct overlock_times *times, u64 ns)
{
	(void)times, (void)ns;
}

void overlock_times_list(struct seq_file *out, struct overlock_times *times)
{
	(void)out, (void)times;
}

static struct done waited(ol_ticks_t until)
{
	done = (struct done){ 0 };
	ol_yield_until(until);
	return done;
}

/* As who cannot sleep does: interrupts may be disabled. */
static struct done gave_way(void)
{
	done = (struct done){ 0 };
	world.irqs_disabled = true;
	overlock_give_way();
	world.irqs_disabled = false;
	return done;
}

static bool only_halts(struct done d)
{
	return d.halts == 1 && !d.relaxes && !d.kvm_calls && !d.xen_calls;
}

static bool only_relaxes(struct done d)
{
	return d.relaxes == 1 && !d.halts && !d.kvm_calls && !d.xen_calls;
}

/* Where nobody can be asked: until the tick, if there is one. */
static void halts(void)
{
	u64 soon = world.time + 10;

	initcall_choose_way();
	overlock_host_yields(); /* not KVM, whoever says so */
	assert(only_halts(waited(soon)));
	assert(only_relaxes(waited(world.time))); /* now */
	world.irqs_disabled = true;
	assert(only_relaxes(waited(soon)));
	world.irqs_disabled = false;
	world.in_interrupt = true;
	assert(only_relaxes(waited(soon)));
	world.in_interrupt = false;
	world.idle = true;
	assert(only_relaxes(waited(soon)));
	world.idle = false;
	world.tick_stopped = true;
	assert(only_relaxes(waited(soon)));
	assert(only_relaxes(gave_way()));
}

static void kvm(void)
{
	u64 soon = world.time + 10;
	struct done d;

	world.kvm = true;
	initcall_choose_way();
	assert(only_halts(waited(soon))); /* without the patch */
	assert(only_relaxes(gave_way()));
	overlock_host_yields();
	for (int disabled = 0; disabled < 2; disabled++) {
		world.irqs_disabled = disabled;
		d = waited(soon);
		assert(d.kvm_calls == 1 && d.called == APIC_ID && !d.halts && !d.relaxes);
	}
	d = gave_way();
	assert(d.kvm_calls == 1 && !d.halts && !d.relaxes);
}

static void xen(void)
{
	struct done d;

	world.xen = true;
	initcall_choose_way();
	d = waited(world.time + 10);
	assert(d.xen_calls == 1 && !d.halts && !d.relaxes && !d.kvm_calls);
	d = gave_way();
	assert(d.xen_calls == 1 && !d.halts && !d.relaxes && !d.kvm_calls);
}

/* An acquisition in steps of 10 us; its CPU is lost before it is in line, or after that, or neither. */
static unsigned int preempted(u64 slice, u64 lost_ns, bool before, bool polls, bool after)
{
	static int lock;
	struct overlock_wait w;
	unsigned int counted = counts[OL_LWP];

	world.slice = slice;
	overlock_wait_begin(&w, &lock);
	world.time += before ? lost_ns : 10000;
	world.slice += slice && before;
	if (polls)
		overlock_polled();
	world.time += 10000;
	overlock_queues();
	world.time += after ? lost_ns : 10000;
	world.slice += slice && after;
	overlock_polled();
	overlock_wait_end(&w);
	overlock_let_go(&lock);
	return counts[OL_LWP] - counted;
}

/* What a waiter lost before it was in line is no place that others waited behind. */
static void queues(void)
{
	overlock_queues(); /* nobody waits */
	for (int polls = 0; polls < 2; polls++) {
		for (u64 slice = 0; slice < 2; slice++) { /* 0: only gaps tell */
			assert(preempted(slice, 5000000, false, polls, false) == 0);
			assert(preempted(slice, 5000000, true, polls, false) == 0);
			assert(preempted(slice, 5000000, false, polls, true) == 1);
			assert(preempted(slice, 5000000, true, polls, true) == 1);
		}
	}
	assert(!counts[OL_LHP]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "halts"))
		halts();
	else if (!strcmp(what, "kvm"))
		kvm();
	else if (!strcmp(what, "xen"))
		xen();
	else if (!strcmp(what, "queues"))
		queues();
	else
		return 2;
	return 0;
}
