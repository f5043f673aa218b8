/* SPDX-License-Identifier: MIT */
#ifndef OL_LAUNCH_H
#define OL_LAUNCH_H
/* What the launcher asks of a program before it becomes it: program.c; and what it says alone: alone.c. */
#include "tunable.h"

#include <stdbool.h>
#include <stddef.h>

#define PYTHON_COMMAND "overlock-tools"

/* Exit codes; docs/run.md and docs/reference/commands.md list them. */
enum { MISSING = 3, CANNOT_START = 125, CANNOT_EXECUTE, NOT_FOUND };

/* Says why on standard error, in one line, and ends with that exit code. */
_Noreturn void refuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The file that a shell would start by that name, to be freed; refuses if there is none. */
char *find_program(const char *name);

/*
 * `libraries`, behind those that the program needs in front of them, as in LD_PRELOAD; to be freed.
 * Refuses a program into which they cannot be preloaded.
 */
char *preloaded_into(const char *program, const char *libraries);

/* `--long-term`, and `--tau-ns` for a time. */
void option_of(const struct ol_tunable *t, char *option, size_t size);

/* What of `overlock run`'s command line only Python may understand. */
struct misunderstood {
	const char *option, *value; /* no value: null; no option: the value says what is wrong */
};

/* Answers `overlock COMMAND` and ends, where Python cannot be started for that reason. */
_Noreturn void answer_alone(const char *command, const struct misunderstood *m, const char *why);
#endif
