/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_LOADING_H
#define MONITOR_LOADING_H
/* What overlock-hostd and overlock-monitord do alike with their BPF programs. */
#include "watched.h"
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdbool.h>

/* For libbpf_set_print(): keeps the first warning since loading_begin(), which is the cause. */
int loading_keep(enum libbpf_print_level level, const char *format, va_list arguments);
const char *loading_said(void);
void loading_begin(void);

/* The function of the timer that ticks; 0: not found. */
__u64 loading_tick(void);

/* In words, by what the end of a slice is predicted. */
const char *loading_ending(enum ending ending, bool ticks);

void slice_counts_add(struct slice_counts *sum, const struct slice_counts *of);
#endif
