// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The counters, in overlock/counters in debugfs: a line per event, and for those with a place how
 * many at 0, 1, 2, 3, 4-7, 8-15, 16-31, 32 and more; then counting.c's times in ns, of holds how
 * many were that long. Writing anything forgets them.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include "counting.h"
#include "overlock.h"

static const struct event {
	const char *name;
	bool has_places;
} events[] = {
#define OL_EVENT(name, what)	{ #name, false },
#define OL_EVENT_AT(name, what)	{ #name, true },
#include <overlock/events.def>
#undef OL_EVENT
};

static int counters_show(struct seq_file *out, void *unused)
{
	unsigned int i, place;

	for (i = 0; i < OL_EVENTS; i++) {
		seq_printf(out, "%s %llu", events[i].name, overlock_count(i));
		for (place = 0; events[i].has_places && place < OL_PLACES; place++)
			seq_printf(out, " %llu", overlock_count_at(i, place));
		seq_putc(out, '\n');
	}
	overlock_tell_times(out);
	return 0;
}

static int counters_open(struct inode *inode, struct file *file)
{
	return single_open(file, counters_show, NULL);
}

static ssize_t counters_write(struct file *file, const char __user *text, size_t size, loff_t *at)
{
	overlock_forget_counts();
	overlock_forget_times();
	return size;
}

static const struct file_operations counters_ops = {
	.owner = THIS_MODULE,
	.open = counters_open,
	.read = seq_read,
	.write = counters_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init counters_init(void)
{
	debugfs_create_file("counters", 0600, debugfs_create_dir("overlock", NULL), NULL,
			    &counters_ops);
	return 0;
}
postcore_initcall(counters_init);
