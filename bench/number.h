/* SPDX-License-Identifier: MIT */
#ifndef BENCH_NUMBER_H
#define BENCH_NUMBER_H
#include <stdbool.h>

/* Null, or a line that says what was wrong with NAME=TEXT, valid until the next call. */
const char *number_parse(double *out, const char *name, const char *text, bool whole, double least,
			 double most);
#endif
