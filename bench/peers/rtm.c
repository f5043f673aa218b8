/* SPDX-License-Identifier: MIT */
/*
 * elided.h, which lib/lock_unit.c compiles as it does the library's locks: its transactions are the
 * platform layer's, the tunables set it, and --counters counts what they come to.
 */
#include "peer.h"

extern const struct ol_lock_ops ol_ops_elided;

const struct ol_peer ol_peers_rtm[] = { { &ol_ops_elided, 0 }, { 0, 0 } };
