/* SPDX-License-Identifier: MIT */
#ifndef OL_LAUNCH_H
#define OL_LAUNCH_H
/* What the launcher asks of a program before it becomes it: program.c. */
#include <stdbool.h>

/* The file that a shell would start by that name, to be freed; null if there is none for sure. */
char *find_program(const char *name);

/* Whether `library` is surely put before the program's own libraries, if the loader is told so. */
bool takes_library(const char *program, const char *library);
#endif
