/* SPDX-License-Identifier: MIT */
#ifndef OL_PRELOAD_REAL_H
#define OL_PRELOAD_REAL_H
/*
 * For libraries that watch a program's calls and go on to glibc's own functions: how these are found when the
 * program starts, by the oldest version with today's meaning.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "least_glibc.h"

#define FIRST "GLIBC_2.2.5"
#if defined(__x86_64__)
#define COND "GLIBC_2.3.2"
#else
#define COND "GLIBC_2.17"
#endif
#define CLOCK "GLIBC_2.30"
#define C11   "GLIBC_2.28"

static inline void refuse(const char *what, const char *why)
{
	dprintf(STDERR_FILENO, "overlock: %s %s\n", what, why);
	_exit(125);
}

/* Else the only version that this machine has. Another C library has fewer functions, and its programs call no other. */
static inline void find_real(void *function, const char *name, const char *version)
{
	void *found = is_glibcs_program() ? dlvsym(RTLD_NEXT, name, version) : 0;

	if (!found)
		found = dlsym(RTLD_NEXT, name);
	if (!found && is_glibcs_program())
		refuse(name, "is not in this glibc: " OL_LEAST_GLIBC " or later is needed");
	memcpy(function, &found, sizeof(found));
}
#endif
