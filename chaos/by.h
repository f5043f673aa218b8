/* SPDX-License-Identifier: MIT */
#ifndef OL_CHAOS_BY_H
#define OL_CHAOS_BY_H
#include <stdbool.h>
#include <stdint.h>

/* `sched`, or the path of a page (steal.h). */
void ol_chaos_by(const char *told);

/* Has this thread without a CPU for so long, but runnable. False: it was not, for that long. */
bool ol_chaos_taken(uint64_t ns);
#endif
