/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SLICE_H
#define BENCH_SLICE_H
/* How long the scheduler means to let a thread run (Linux 6.12 and later). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For this thread and those it starts; 0 leaves it. False: `why` says what was impossible. */
bool slice_set(uint64_t ns, char *why, size_t size);

/* As the kernel says; 0 if it does not. */
uint64_t slice_get(void);
#endif
