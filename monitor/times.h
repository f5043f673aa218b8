/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_TIMES_H
#define MONITOR_TIMES_H
/* Times counted by their logarithm, four steps for each doubling: within 12 % of what they are. */
#include <linux/types.h>

enum { STEP_BITS = 2, STEPS = 1 << STEP_BITS, PLACES = 64 * STEPS };

#ifndef __bpf__
/* Below which so many percent of them are. */
__u64 times_below(const __u64 *times, unsigned percent);

/* "name": {"count": ..., "p50": ..., "p99": ...} */
void times_tell(const char *name, const __u64 *times);
#endif
#endif
