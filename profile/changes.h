/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_CHANGES_H
#define MONITOR_CHANGES_H
/* What changed, for a timeline: kept as it comes, told at the end. What does not fit is counted in the kernel. */
#include <bpf/libbpf.h>
#include <stdbool.h>

/* From that map, at most so many; 0: none is asked for. */
bool changes_open(struct ring_buffer *ring, int map, unsigned most);
void changes_tell(void);
#endif
