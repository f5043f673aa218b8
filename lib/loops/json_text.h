/* SPDX-License-Identifier: MIT */
#ifndef OL_JSON_TEXT_H
#define OL_JSON_TEXT_H
/* A string of JSON; bytes beyond ASCII as Python's surrogateescape has them, for a name need not be UTF-8. */
#include <stdio.h>

static inline void ol_json_text(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c >= 0x7f || c == '"' || c == '\\')
			fprintf(file, "\\u%04x", c >= 0x80 ? 0xdc00u + c : c);
		else
			fputc(c, file);
	}
	fputc('"', file);
}
#endif
