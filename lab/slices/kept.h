/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_KEPT_H
#define MONITOR_KEPT_H
/*
 * The slices that overlock-sched keeps, for overlock-hostd: a map of its BPF program, found by its name, with
 * an element for each CPU. Written and read on that CPU alone.
 */
#include <linux/types.h>

#define KEPT_MAP	overlock_kept
#define KEPT_MAP_NAME	"overlock_kept"

struct kept {
	__u64 end;    /* ns of CLOCK_MONOTONIC */
	__u32 thread; /* whose slice it is; it stays here when the slice is over */
	__u32 reserved[13];
};
#endif
