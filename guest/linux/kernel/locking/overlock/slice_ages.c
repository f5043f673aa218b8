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
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include "overlock.h"
#include "times.h"

struct looks {
	u64 all, unknown;
};

static DEFINE_PER_CPU(struct looks, looks);
static DEFINE_PER_CPU(struct overlock_times, ages);

void overlock_slice_seen(const struct overlock_slice *slice)
{
	this_cpu_inc(looks.all);
	/* A clock that is off by a little makes an age that is negative by a little: none. */
	overlock_times_add(&ages, (s64)slice->age < 0 ? 0 : slice->age);
}

void overlock_slice_unknown(void)
{
	this_cpu_inc(looks.all);
	this_cpu_inc(looks.unknown);
}

static int ages_show(struct seq_file *out, void *unused)
{
	const struct overlock_slice_source *source = overlock_slice_source();
	u64 all = 0, unknown = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		all += per_cpu(looks, cpu).all;
		unknown += per_cpu(looks, cpu).unknown;
	}
	seq_printf(out, "source %s\n", overlock_slices());
	seq_printf(out, "looks %llu %llu\n", all, unknown);
	seq_printf(out, "age %llu %llu", overlock_times_percentile(&ages, 50),
		   overlock_times_percentile(&ages, 99));
	overlock_times_list(out, &ages);
	seq_putc(out, '\n');
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

	for_each_possible_cpu(cpu) {
		memset(&per_cpu(looks, cpu), 0, sizeof(struct looks));
		memset(&per_cpu(ages, cpu), 0, sizeof(struct overlock_times));
	}
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
