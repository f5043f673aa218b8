/* SPDX-License-Identifier: MIT */
#ifndef OL_LAUNCH_H
#define OL_LAUNCH_H
/* What the launcher asks of a program before it becomes it: program.c. */
#include <stdbool.h>

/* Exit codes; docs/run.md lists them. */
enum { CANNOT_START = 125, CANNOT_EXECUTE, NOT_FOUND };

/* Says why on standard error, in one line, and ends with that exit code. */
_Noreturn void refuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The file that a shell would start by that name, to be freed; refuses if there is none. */
char *find_program(const char *name);

/*
 * `library`, behind those that the program needs in front of it, as in LD_PRELOAD; to be freed.
 * Refuses a program into which it cannot be preloaded.
 */
char *preloaded_into(const char *program, const char *library);
#endif
