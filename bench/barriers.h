/* SPDX-License-Identifier: MIT */
#ifndef BENCH_BARRIERS_H
#define BENCH_BARRIERS_H
/* Barriers as subjects (workload/meeting.h), ended by null ops. */
#include "peer.h"

#ifdef __cplusplus
extern "C"
#else
extern
#endif
	const struct ol_peer ol_barriers[];
#endif
