// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * How old the published ends of slices were when a CPU looked, and how true: overlock/slice in
 * debugfs. Writing anything forgets it.
 *
 *	source		who tells
 *	looks		how often somebody asked, and how often nothing was known
 *	age		ns from the telling to the look: median, 99th of a hundred, and all as
 *			NS:LOOKS
 *	early, late	ns from the last look in a slice to the end published then, where that was
 *			still to come, and where it had passed: the same three. The slice itself
 *			ended between that look and the next one, which is in another slice
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

/* A look that found a slice. An interrupt's look amid another may lose one or count it twice. */
struct sight {
	u64 id;
	ol_ticks_t end, at;
};

static DEFINE_PER_CPU(struct looks, looks);
static DEFINE_PER_CPU(struct sight, sights);
static DEFINE_PER_CPU(struct overlock_times, ages);
static DEFINE_PER_CPU(struct overlock_times, early);
static DEFINE_PER_CPU(struct overlock_times, late);

/* Counts a slice's last look, unless its end was unknown, or not believed any more. */
static void compare_with_told(const struct sight *last)
{
	s64 left = last->end - last->at;

	if (!last->id || last->end == OL_NEVER)
		return;
	if (left >= 0)
		overlock_times_add(&early, left);
	else
		overlock_times_add(&late, -left);
}

void overlock_slice_seen(const struct overlock_slice *slice)
{
	struct sight *last = raw_cpu_ptr(&sights);

	this_cpu_inc(looks.all);
	/* A clock that is off by a little makes an age that is negative by a little: none. */
	overlock_times_add(&ages, (s64)slice->age < 0 ? 0 : slice->age);
	if (slice->id != last->id)
		compare_with_told(last);
	*last = (struct sight){ slice->id, slice->end, ol_now() };
}

void overlock_slice_unknown(void)
{
	this_cpu_inc(looks.all);
	this_cpu_inc(looks.unknown);
}

static void show_times(struct seq_file *out, const char *name,
		       struct overlock_times __percpu *times)
{
	seq_printf(out, "%s %llu %llu", name, overlock_times_percentile(times, 50),
		   overlock_times_percentile(times, 99));
	overlock_times_list(out, times);
	seq_putc(out, '\n');
}

static int looks_show(struct seq_file *out, void *unused)
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
	show_times(out, "age", &ages);
	show_times(out, "early", &early);
	show_times(out, "late", &late);
	if (source && source->clock_moves)
		seq_printf(out, "clock %lld\n", source->clock_moves());
	return 0;
}

static int looks_open(struct inode *inode, struct file *file)
{
	return single_open(file, looks_show, NULL);
}

static ssize_t looks_write(struct file *file, const char __user *text, size_t size, loff_t *at)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		per_cpu(looks, cpu) = (struct looks){};
		per_cpu(sights, cpu) = (struct sight){};
		memset(&per_cpu(ages, cpu), 0, sizeof(struct overlock_times));
		memset(&per_cpu(early, cpu), 0, sizeof(struct overlock_times));
		memset(&per_cpu(late, cpu), 0, sizeof(struct overlock_times));
	}
	return size;
}

static const struct file_operations looks_ops = {
	.owner = THIS_MODULE,
	.open = looks_open,
	.read = seq_read,
	.write = looks_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init looks_init(void)
{
	struct dentry *folder = debugfs_lookup("overlock", NULL);

	debugfs_create_file("slice", 0600, folder, NULL, &looks_ops);
	dput(folder);
	return 0;
}
device_initcall(looks_init);
