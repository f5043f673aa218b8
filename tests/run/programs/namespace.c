/* SPDX-License-Identifier: MIT */
/* Loads the C library into a namespace of its own. Usage: namespace new|same */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int n, char **words)
{
	const Lmid_t where = n > 1 && !strcmp(words[1], "new") ? LM_ID_NEWLM : LM_ID_BASE;

	puts(dlmopen(where, "libc.so.6", RTLD_NOW) ? "loaded" : "not loaded");
	return 0;
}
