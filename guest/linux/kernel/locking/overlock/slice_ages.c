// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * How old what is told of slices was when somebody looked, in overlock/slice in debugfs. Writing
 * anything forgets it.
 *
 *	source		who tells
 *	looks		how often somebody asked, and how often nothing was known
 *	age		ns from the telling to the look: median, 99th of a hundred, and all as
 *			NS:LOOKS
 *	clock		ns by which the last two calibrations of the source's clock differ at most
 */
#include <linux/bitops.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include "overlock.h"

/* By the logarithm, four steps for each doubling: within 12 % of what they are. */
enum { STEP_BITS = 2, STEPS = 1 << STEP_BITS, PLACES = 64 * STEPS };

struct ages {
	u64 looks, unknown;
	u64 age[PLACES];
};

static DEFINE_PER_CPU(struct ages, ages);

static unsigned int place_of(u64 ns)
{
	unsigned int top;

	if (ns < STEPS)
		return ns;
	top = fls64(ns) - 1;
	return (top - STEP_BITS + 1) * STEPS + (ns >> (top - STEP_BITS)) % STEPS;
}

/* The least that is counted at a place. */
static u64 ns_at(unsigned int place)
{
	if (place < STEPS)
		return place;
	return (u64)(STEPS + place % STEPS) << (place / STEPS - 1);
}

void overlock_slice_seen(const struct overlock_slice *slice)
{
	this_cpu_inc(ages.looks);
	/* A clock that is off by a little makes an age that is negative by a little: none. */
	this_cpu_inc(ages.age[place_of((s64)slice->age < 0 ? 0 : slice->age)]);
}

void overlock_slice_unknown(void)
{
	this_cpu_inc(ages.looks);
	this_cpu_inc(ages.unknown);
}

static u64 sum_of(size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *(u64 *)((char *)per_cpu_ptr(&ages, cpu) + offset);
	return sum;
}

static void tell_times(struct seq_file *out, const char *name, size_t offset)
{
	u64 all = 0, below = 0, at_half = 0, at_99 = 0;
	unsigned int i;

	for (i = 0; i < PLACES; i++)
		all += sum_of(offset + i * sizeof(u64));
	for (i = 0; i < PLACES; i++) {
		u64 n = sum_of(offset + i * sizeof(u64));

		if (below * 2 < all && (below + n) * 2 >= all)
			at_half = ns_at(i);
		if (below * 100 < all * 99 && (below + n) * 100 >= all * 99)
			at_99 = ns_at(i);
		below += n;
	}
	seq_printf(out, "%s %llu %llu", name, at_half, at_99);
	for (i = 0; i < PLACES; i++) {
		u64 n = sum_of(offset + i * sizeof(u64));

		if (n)
			seq_printf(out, " %llu:%llu", ns_at(i), n);
	}
	seq_putc(out, '\n');
}

static int ages_show(struct seq_file *out, void *unused)
{
	const struct overlock_slice_source *source = overlock_slice_source();

	seq_printf(out, "source %s\n", overlock_slices());
	seq_printf(out, "looks %llu %llu\n", sum_of(offsetof(struct ages, looks)),
		   sum_of(offsetof(struct ages, unknown)));
	tell_times(out, "age", offsetof(struct ages, age));
	if (source && source->clock_moves)
		seq_printf(out, "clock %lld\n", source->clock_moves());
	return 0;
}

static int ages_open(struct inode *inode, struct file *file)
{
	return single_open(file, ages_show, NULL);
}

static ssize_t ages_write(struct file *file, const char __user *text, size_t size, loff_t *at)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&ages, cpu), 0, sizeof(ages));
	return size;
}

static const struct file_operations ages_ops = {
	.owner = THIS_MODULE,
	.open = ages_open,
	.read = seq_read,
	.write = ages_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init ages_init(void)
{
	struct dentry *folder = debugfs_lookup("overlock", NULL);

	debugfs_create_file("slice", 0600, folder, NULL, &ages_ops);
	dput(folder);
	return 0;
}
device_initcall(ages_init);
