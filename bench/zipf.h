/* SPDX-License-Identifier: MIT */
#ifndef BENCH_ZIPF_H
#define BENCH_ZIPF_H
#include <random.h>

/* Fills n entries: the k-th, from 1, has a chance proportional to k^-s. False: no memory. */
bool zipf_fill(struct workload_choice *table, uint32_t n, double s);
#endif
