/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "ending.h"
#include <stdio.h>
#include <string.h>

/* Its name changes from one Linux to the next. */
__u64 ending_tick(void)
{
	static const char *const names[] = { "tick_nohz_handler", "tick_sched_timer" };
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long at, found = 0;
	char line[512], name[128];

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %*c %127s", &at, name) != 2)
			continue;
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (!strcmp(name, names[i]))
				found = at;
	}
	if (file)
		fclose(file);
	return found;
}

const char *ending_words(enum ending ending, bool ticks)
{
	switch (ending) {
	case ENDING_PROTECTED:
		return ticks ? "EEVDF: its protected part, up to the next tick"
			     : "EEVDF: its protected part";
	case ENDING_DEADLINE:
		return ticks ? "EEVDF: its deadline, up to the next tick" : "EEVDF: its deadline";
	case ENDING_ASSUMED:
		return "a slice of assumed length";
	case ENDING_KEPT:
		return "overlock sched, which keeps it";
	default:
		return "no slice was seen";
	}
}

void slice_counts_add(struct slice_counts *sum, const struct slice_counts *of)
{
	sum->slices += of->slices;
	sum->taken += of->taken;
	sum->left += of->left;
	sum->endless += of->endless;
	sum->broken += of->broken;
	sum->written += of->written;
	sum->refused += of->refused;
	for (unsigned i = 0; i < PLACES; i++) {
		sum->early[i] += of->early[i];
		sum->after[i] += of->after[i];
		sum->length[i] += of->length[i];
	}
}
