// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The rows of <overlock/or_fail.h>: a CPU's, for all its contexts. An interrupt handler finds there
 * what the code that it has interrupted holds, as a signal handler does in a thread's.
 */
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <overlock/or_fail.h>
#include "overlock.h"

static DEFINE_PER_CPU(struct ol_held_row, rows);
static struct ol_held_row nobodys; /* a hole in the numbers of CPUs */

struct ol_held_row *ol_held_mine(void)
{
	return raw_cpu_ptr(&rows);
}

struct ol_held_row *ol_held_of(u32 id)
{
	return cpu_possible(id - 1) ? per_cpu_ptr(&rows, id - 1) : &nobodys;
}

u32 ol_held_last(void)
{
	return nr_cpu_ids;
}
