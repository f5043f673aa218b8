/* SPDX-License-Identifier: MIT */
#ifndef OL_TEXT_H
#define OL_TEXT_H
/*
 * Text without stdio, whose functions may allocate and lock: where a thread waits, releases or has just forked.
 * Each returns where the text ends, with a zero; there has to be room.
 */
#include <stdint.h>
#include <string.h>

enum { OL_DIGITS = 20 }; /* of 64 bits, at most */

static inline char *ol_text_number(char *to, uint64_t n)
{
	char digits[OL_DIGITS + 1] = "";
	char *first = digits + OL_DIGITS;

	do
		*--first = (char)('0' + n % 10);
	while (n /= 10);
	return stpcpy(to, first);
}
#endif
