/* SPDX-License-Identifier: MIT */
#ifndef OL_SLICES_H
#define OL_SLICES_H
/*
 * What the page of `overlock sched` or of the monitor tells, where there is one; knowledge.c and park.c ask
 * it first. Never exported.
 */
#include <overlock/port.h>

enum ol_from { OL_FROM_NOBODY, OL_FROM_SCHED = 1, OL_FROM_MONITOR = 2 };

#pragma GCC visibility push(hidden)
/* Asks those of a set for a page, the scheduler first; also in the child of a fork. */
void ol_slices_start(unsigned from);
enum ol_from ol_slices_from(void); /* who tells */
void ol_slices_join(uint32_t id);  /* this thread has that id now */
void ol_slices_leave(void);

/* False: unknown. */
bool ol_slices_id(uint64_t *id);
bool ol_slices_end(ol_ticks_t *end);

/* False: nobody listens. */
bool ol_slices_defer_begin(void);
void ol_slices_defer_end(void);

/* From one to the other, this thread waits for that context. */
void ol_slices_name(uint32_t id);
void ol_slices_unname(void);
#pragma GCC visibility pop
#endif
