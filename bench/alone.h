/* SPDX-License-Identifier: MIT */
#ifndef BENCH_ALONE_H
#define BENCH_ALONE_H
#include "cell.h"

/* A turn by itself, in a process of its own: one context, a lock that does nothing. */
bool run_alone(const struct cell *cell, const struct cell_memory *memory);
#endif
