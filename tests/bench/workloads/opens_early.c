/* SPDX-License-Identifier: MIT */
/* A barrier at which each thread waits for one other only, whatever their number: as a peer
 * (bench/peer.h). */
#include <meeting.h>
#include <peer.h>

MEETING(opens_early, ol_barrier_t, ((void)n, ol_barrier_wait(b, 2)))

static const struct ol_lock_ops ops =
    MEETING_OPS(opens_early, "here", "lets every second one through");
const struct ol_peer ol_peers[] = {{&ops, 0}, {0, 0}};
