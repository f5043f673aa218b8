/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_CHAOS_BY_H
#define OL_CHAOS_BY_H
/*
 * The first argument of a sched_yield() by which a thread asks the scheduler of `overlock chaos --by sched` for
 * no CPU; the second says for how many ns. Every other scheduler takes it for what it is.
 */
#define CHAOS_YIELD 0x6f6c63686173ull

#ifndef __bpf__
#include <stdbool.h>
#include <stdint.h>

/* `sched`, or the path of a page (steal.h). */
void ol_chaos_by(const char *told);

/* Has this thread without a CPU for so long, but runnable. False: it was not, for that long. */
bool ol_chaos_taken(uint64_t ns);
#endif
#endif
