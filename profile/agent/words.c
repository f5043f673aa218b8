/* SPDX-License-Identifier: MIT */
#include "words.h"
#include <stdio.h>

void tell_string(const char *word)
{
	putchar('"');
	for (; *word; word++) {
		const unsigned char c = (unsigned char)*word;

		if (c < ' ')
			printf("\\u%04x", c);
		else
			printf(c == '"' || c == '\\' ? "\\%c" : "%c", c);
	}
	putchar('"');
}
