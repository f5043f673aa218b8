/* SPDX-License-Identifier: MIT */
#ifndef OL_CHAOS_STEAL_H
#define OL_CHAOS_STEAL_H
/*
 * The page that overlock-chaos-steal and the library share. Its thread on each CPU has a real-time
 * priority: asked for, it computes there for a while, so that who asked has no CPU and stays runnable.
 */
#include <stdint.h>

/* At most for so long at once, and then not for as long again: half of any CPU's time. */
#define STEAL_MOST_NS UINT64_C(500000000)

enum { STEAL_CPUS = 4096 };

enum steal_state { STEAL_FREE, STEAL_CLAIMED, STEAL_ASKED, STEAL_RESTS };

/*
 * Who claims a slot acquires what its last user left, and releases `ns` with STEAL_ASKED; the thread acquires
 * it there, and releases the slot with STEAL_RESTS and STEAL_FREE. Counts order nothing, so they are relaxed.
 */
struct steal_slot {
	uint32_t state; /* a futex */
	uint32_t ready;
	uint64_t ns;
} __attribute__((aligned(64)));

struct steal_page {
	uint32_t most;			     /* CPUs that were taken at once, so far */
	struct steal_slot slots[STEAL_CPUS]; /* by CPU */
};
#endif
