/* SPDX-License-Identifier: MIT */
#ifndef MUST_H
#define MUST_H
/* What the targets in C share. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What has to hold: libFuzzer keeps the input that aborts. */
static inline void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

/* As large as it is, so that AddressSanitizer sees each look beyond; ends with `zeros`. */
static inline void *copy_with_zeros(const uint8_t *bytes, size_t n, size_t zeros)
{
	char *copy = calloc(1, n + zeros ? n + zeros : 1);

	must(copy, "there is no memory");
	memcpy(copy, bytes, n);
	return copy;
}

static inline void *copy_of(const uint8_t *bytes, size_t n)
{
	return copy_with_zeros(bytes, n, 0);
}

static inline char *text_of(const uint8_t *bytes, size_t n)
{
	return copy_with_zeros(bytes, n, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
#endif
