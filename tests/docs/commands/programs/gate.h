/* SPDX-License-Identifier: MIT */
/* The lock that docs/workloads.md says how to call. */
#pragma once
#include <stdatomic.h>

typedef struct {
	atomic_int shut;
} gate_t;

static inline int gate_shut(gate_t *g)
{
	return atomic_exchange(&g->shut, 1);
}

static inline void gate_open(gate_t *g)
{
	atomic_store(&g->shut, 0);
}
