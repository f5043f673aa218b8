/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_ENDING_H
#define MONITOR_ENDING_H
/* How overlock-hostd and overlock-monitord predict the ends of slices, and count what became of them. */
#include "watched.h"
#include <stdbool.h>

/* The function of the timer that ticks; 0: not found. */
__u64 ending_tick(void);

/* In words, by what the end of a slice is predicted. */
const char *ending_words(enum ending ending, bool ticks);

void slice_counts_add(struct slice_counts *sum, const struct slice_counts *of);
#endif
