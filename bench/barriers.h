/* SPDX-License-Identifier: MIT */
#ifndef BENCH_BARRIERS_H
#define BENCH_BARRIERS_H
/* Barriers as subjects (workload/meeting.h), ended by null ops. */
#include "openmp.h"
#include "peer.h"

#ifdef __cplusplus
extern "C" {
#endif
extern const struct ol_peer ol_barriers[];
/* Of a barrier for teams; null: any threads may meet there. */
ol_team *barrier_team(const struct ol_lock_ops *ops);
#ifdef __cplusplus
}
#endif
#endif
