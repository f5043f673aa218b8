/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_GATHERED_H
#define MONITOR_GATHERED_H
/* What the BPF programs send at once: stacks and samples, added up. What does not fit is counted. */
#include "waits.h"
#include <stddef.h>

/* For a ring_buffer. */
int gathered_record(void *context, void *data, size_t bytes);

/* Waits that have not ended: of a lock, in all. */
void gathered_none_open(void);
void gathered_open_wait(__u64 lock, __u64 ns);
__u64 gathered_open_waits(__u64 lock);

/* When the process became another program; 0: it has not. */
__u64 gathered_began(void);
__u64 gathered_lost(void);
void gathered_tell(void);
#endif
