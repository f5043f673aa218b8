/* SPDX-License-Identifier: MIT */
#ifndef BENCH_ZIPF_H
#define BENCH_ZIPF_H
#include <random.h>

/* Fills the table of n entries: the k-th of them, from 1, has a chance proportional to k^-s. */
void zipf_fill(struct workload_choice *table, uint32_t n, double s);
#endif
