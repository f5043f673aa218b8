/* SPDX-License-Identifier: MIT */
#include "words.h"
#include <stdio.h>

void tell_string(const char *word)
{
	putchar('"');
	for (; *word; word++)
		if (*word != '"' && *word != '\\' && (unsigned char)*word >= ' ')
			putchar(*word);
	putchar('"');
}
