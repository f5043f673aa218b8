/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_OPTIONS_H
#define MONITOR_OPTIONS_H
/* How all programs here read their options, and how they refuse. */
#include <stdbool.h>

enum { FAILED = 1, USAGE = 2, MISSING = 3 };

/* What the program calls itself in messages; each program defines it. */
extern const char program_name[];

/* One line on standard error, and the end with that code. */
__attribute__((noreturn, format(printf, 2, 3))) void fail(int code, const char *format, ...);

/* --NAME, and where its value goes: one of the pointers. */
struct program_option {
	const char *name;
	bool *on, *off;
	const char **text;
	double *number;
	unsigned *whole;
	void (*call)(const char *value);
	double least, most; /* of a number */
};

/* Ends the program for --help, and for an option, a number or an argument that is not right. */
void options_read(int argc, char **argv, const struct program_option *options, unsigned n,
		  const char *usage);

/* The number that the text is, which must be from least to most. */
double option_number(const char *name, const char *text, double least, double most);

/* Whether --NAME=VALUE is the second of two words; it must be one of them. */
bool option_is(const char *name, const char *value, const char *first, const char *second);
#endif
