/* SPDX-License-Identifier: MIT */
#include <valgrind/callgrind.h>

void pairs_begin(void);
void pairs_end(const char *trigger);

void pairs_begin(void)
{
	CALLGRIND_ZERO_STATS;
}

void pairs_end(const char *trigger)
{
	CALLGRIND_DUMP_STATS_AT(trigger);
}
