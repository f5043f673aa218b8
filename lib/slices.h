/* SPDX-License-Identifier: MIT */
#ifndef OL_SLICES_H
#define OL_SLICES_H
/*
 * What `overlock sched` tells, where it schedules, or `overlock monitord`, where it runs; knowledge.c and
 * park.c ask it first. Never exported.
 */
#include <overlock/port.h>

#pragma GCC visibility push(hidden)
enum ol_teller { OL_NOBODY_TELLS, OL_SCHEDULER_TELLS, OL_MONITOR_TELLS };

/* The first of those asked that gives us a page. Also in the child of a fork. */
enum ol_teller ol_slices_start(bool scheduler, bool monitor);
bool ol_slices_told(void);	  /* still */
void ol_slices_join(uint32_t id); /* this thread has that id now */
void ol_slices_leave(void);

/* False: unknown. */
bool ol_slices_id(uint64_t *id);
bool ol_slices_end(ol_ticks_t *end);

bool ol_slices_defer_begin(void); /* false: nobody listens */
void ol_slices_defer_end(void);

/* From one to the other, this thread waits for that context. */
void ol_slices_name(uint32_t id);
void ol_slices_unname(void);
#pragma GCC visibility pop
#endif
