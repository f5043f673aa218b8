// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* What was seen, as one line of JSON in /proc/overlock_loop. */
#include <linux/math64.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <asm/tsc.h>
#include "loop.h"

static u64 ns_of(u64 cycles)
{
	return mul_u64_u64_div_u64(cycles, 1000000, tsc_khz);
}

static void tell_times(struct seq_file *out, const char *name, size_t offset)
{
	const char *between = "";
	unsigned int place, i;

	seq_printf(out, "\"%s\": [", name);
	for (place = 0; place < PLACES; place++) {
		u64 count = 0;

		for (i = 0; i < trial.n; i++)
			count +=
				((struct times *)((char *)trial.workers[i] + offset))->count[place];
		if (!count)
			continue;
		seq_printf(out, "%s[%llu, %llu]", between, ns_of(cycles_at(place)), count);
		between = ", ";
	}
	seq_puts(out, "], ");
}

static void tell_turns(struct seq_file *out)
{
	unsigned int i;

	seq_puts(out, "\"per_thread\": [");
	for (i = 0; i < trial.n; i++)
		seq_printf(out, "%s%llu", i ? ", " : "",
			   trial.last.turns[i] - trial.first.turns[i]);
	seq_puts(out, "], ");
}

static u64 longest_gap(void)
{
	u64 gap = 0;
	unsigned int i;

	for (i = 0; i < trial.n; i++)
		gap = max(gap, READ_ONCE(trial.workers[i]->gap));
	return gap;
}

static u64 sum_of(size_t offset)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < trial.n; i++)
		sum += *(u64 *)((char *)trial.workers[i] + offset);
	return sum;
}

static void tell_preemptions(struct seq_file *out)
{
	const char *const names[] = {
#define EVENT(name)	#name,
		EACH_EVENT(EVENT)
#undef EVENT
	};
	u64 waits = sum_of(offsetof(struct worker, waits));
	u64 queue = sum_of(offsetof(struct worker, queue));
	u32 most = 0;
	unsigned int i;

	for (i = 0; i < trial.n; i++)
		most = max(most, trial.workers[i]->queue_most);
	seq_printf(out, "\"slices\": \"%s\", \"events\": {", slices_source());
	for (i = 0; i < EVENTS; i++)
		seq_printf(out, "%s\"%s\": %llu", i ? ", " : "", names[i],
			   sum_of(offsetof(struct worker, events) + i * sizeof(u64)));
	seq_printf(out, "}, \"waited_ns\": %llu, ", ns_of(sum_of(offsetof(struct worker, waited))));
	seq_printf(out, "\"queue_sum\": %llu, \"queue_seen\": %llu, \"queue_max\": %u, ", queue,
		   waits, most);
}

static void tell_first_passes(struct seq_file *out)
{
	const char *between = "";
	unsigned int i;

	seq_puts(out, "\"replay\": {\"locks\": [");
	for (i = 0; i < trial.n_locks; i++) {
		const struct first_passes *first = &trial.locks[i].first;

		if (!first->taken)
			continue;
		seq_printf(out, "%s[%u, %llu, %llu, %llu]", between, i, first->taken, first->waits,
			   ns_of(first->waited));
		between = ", ";
	}
	seq_puts(out, "], \"threads\": [");
	for (i = 0; i < trial.n; i++) {
		const struct pass *pass = &trial.workers[i]->pass;

		seq_printf(out, "%s[%llu, %llu, %llu, %llu, %s]", i ? ", " : "", pass->ops,
			   pass->hash, ns_of(pass->began),
			   ns_of(READ_ONCE(pass->ended) ?: trial.last.when),
			   READ_ONCE(pass->over) ? "true" : "false");
	}
	seq_puts(out, "]}, ");
}

static int tell(struct seq_file *out, void *unused)
{
	seq_printf(out, "{\"workload\": \"%s\", ", trial.workload);
	seq_printf(out, "\"window_ns\": %llu, ", ns_of(trial.last.when - trial.first.when));
	tell_turns(out);
	tell_times(out, "wait", offsetof(struct worker, wait));
	tell_times(out, "hold", offsetof(struct worker, hold));
	tell_times(out, "handover", offsetof(struct worker, handover));
	if (preemptions)
		tell_preemptions(out);
	if (trial.replays)
		tell_first_passes(out);
	seq_printf(out, "\"gap_ns\": %llu, ", ns_of(longest_gap()));
	seq_printf(out, "\"unit_ps\": %llu, ", trial.unit_ps);
	seq_printf(out, "\"drained\": %s, ", trial.drained ? "true" : "false");
	seq_printf(out, "\"drain_ns\": %llu, ", trial.drain_ns);
	seq_printf(out, "\"wrong\": \"%s\"}\n", trial.wrong ?: "");
	return 0;
}

int tell_begin(void)
{
	return proc_create_single("overlock_loop", 0444, NULL, tell) ? 0 : -ENOMEM;
}

void tell_end(void)
{
	remove_proc_entry("overlock_loop", NULL);
}
