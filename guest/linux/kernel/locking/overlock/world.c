// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What the Linux port needs memory for, but for parking: ids, queue nodes, tuning, the waiting
 * array, counters. The same in a kernel whose spinlocks these are and in the module.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "overlock.h"

#define LEVELS	OVERLOCK_LEVELS

u64 ol_wait_array[OL_WAIT_SLOTS];
EXPORT_SYMBOL_GPL(ol_wait_array);

struct ol_world ol_world = {
	.tuning = {
#define OL_TUNABLE(name, unit, preset, ...) .name = (preset),
#include <overlock/tunables.def>
#undef OL_TUNABLE
	},
};
EXPORT_SYMBOL_GPL(ol_world);

/*
 * A context is unique while each level is entered once. Deeper (an interrupt handler that enabled
 * interrupts, an NMI inside an NMI) has no id and loops on trylock.
 */
static_assert(NMI_MASK > NMI_OFFSET, "an NMI inside an NMI can be told");

static bool nested_twice(void)
{
	return (preempt_count() & NMI_MASK) > NMI_OFFSET ||
	       (preempt_count() & HARDIRQ_MASK) > HARDIRQ_OFFSET;
}

unsigned int overlock_level(void)
{
	return nested_twice() ? LEVELS : interrupt_context_level();
}

u32 ol_self(void)
{
	unsigned int level = overlock_level();
	u32 id = raw_smp_processor_id() * LEVELS + level + 1;

	return id <= OL_ID_MAX && level < LEVELS ? id : 0;
}
EXPORT_SYMBOL_GPL(ol_self);

/*
 * As many nodes per CPU as contexts may wait on it at once. Each has its own flag, for a node may
 * be given back by another CPU.
 */
static DEFINE_PER_CPU(struct ol_node[LEVELS], nodes);

struct ol_node *ol_node_get(void)
{
	struct ol_node *mine = *raw_cpu_ptr(&nodes);
	int i;

	for (i = 0; i < LEVELS; i++)
		/* Acquires from the release in ol_node_put(): the last user is done with it. */
		if (!READ_ONCE(mine[i].taken) && !xchg_acquire(&mine[i].taken, 1))
			break;
	if (i == LEVELS)
		return NULL;
	mine[i].number = raw_smp_processor_id() * LEVELS + i + 1;
	return &mine[i];
}

void ol_node_put(struct ol_node *node)
{
	smp_store_release(&node->taken, 0); /* to the acquire in ol_node_get() */
}

u32 ol_node_number(const struct ol_node *node)
{
	return node->number <= OL_NODE_MAX ? node->number : 0;
}

struct ol_node *ol_node_at(u32 number)
{
	return &per_cpu(nodes, (number - 1) / LEVELS)[(number - 1) % LEVELS];
}

/*
 * Like any park it may return early; it does after `spin`, so that a word that went through all its
 * values unseen holds nobody up.
 */
void overlock_poll(const u32 *word, u32 seen, ol_ticks_t until)
{
	ol_ticks_t end = ol_earlier(until, ol_after(1, ol_tune(spin)));

	smp_mb(); /* what the parker published, before the look: the protocol of port.h */
	while (READ_ONCE(*word) == seen && !ol_passed(end))
		cpu_relax();
}

/* What the hypervisor tells of the vCPU that the context is on; false where it tells nothing. */
bool ol_is_preempted(u32 id)
{
	return id && vcpu_is_preempted(overlock_cpu_of(id));
}

static DEFINE_PER_CPU(u64[OL_EVENTS], counts);
static DEFINE_PER_CPU(u64[OL_EVENTS][OL_PLACES], places);

void ol_count_event(unsigned int event)
{
	this_cpu_inc(counts[event]);
}

void ol_count_event_at(unsigned int event, unsigned int n)
{
	this_cpu_inc(counts[event]);
	this_cpu_inc(places[event][ol_place(n)]);
	if (event == OL_QUEUE)
		overlock_queues();
}

u64 overlock_count(unsigned int event)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(counts, cpu)[event];
	return sum;
}

u64 overlock_count_at(unsigned int event, unsigned int place)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(places, cpu)[event][place];
	return sum;
}

void overlock_forget_counts(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		memset(per_cpu(counts, cpu), 0, sizeof(counts));
		memset(per_cpu(places, cpu), 0, sizeof(places));
	}
}

/* Module parameters: one per tunable, a time as <name>_ns. */

enum unit { ns, finite, count, power };

static int set_tunable(const char *text, u64 *value, u64 least, u64 most, enum unit unit,
		       const char *name)
{
	u64 v;

	if (unit == ns && sysfs_streq(text, "inf")) {
		WRITE_ONCE(*value, OL_NEVER);
		return 0;
	}
	if (kstrtou64(text, 0, &v) || v < least || v > most || (unit == power && v & (v - 1))) {
		pr_err("overlock: %s=%.*s is not a %s from %llu to %llu%s\n", name,
		       (int)strcspn(text, "\n"), text, unit == power ? "power of two" : "number",
		       least, most, unit == ns ? " or inf" : "");
		return -EINVAL;
	}
	WRITE_ONCE(*value, v);
	return 0;
}

static int get_tunable(char *text, const struct kernel_param *param)
{
	u64 v = READ_ONCE(*(u64 *)param->arg);

	return v == OL_NEVER ? sprintf(text, "inf\n") : sprintf(text, "%llu\n", v);
}

#define PARAMETER_ns(name)	name##_ns
#define PARAMETER_finite(name)	name##_ns
#define PARAMETER_count(name)	name
#define PARAMETER_power(name)	name
#define MODE_any		0644
#define MODE_idle		0444	/* at load only: nobody waits yet */
#define PARAMETER(name, ops, arg, mode, text)		\
	module_param_cb(name, ops, arg, mode);		\
	MODULE_PARM_DESC(name, text)

#define OL_TUNABLE(name, unit, preset, least, most, when, source, what)			\
	static int set_##name(const char *text, const struct kernel_param *param)	\
	{										\
		return set_tunable(text, param->arg, least, most, unit, #name); \
	}										\
	static const struct kernel_param_ops ops_##name = {				\
		.set = set_##name,							\
		.get = get_tunable,							\
	};										\
	PARAMETER(PARAMETER_##unit(name), &ops_##name, &ol_world.tuning.name, MODE_##when, \
		  what);
#include <overlock/tunables.def>
