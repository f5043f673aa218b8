/* SPDX-License-Identifier: MIT */
#include "options.h"
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP = 256, FIRST };

void fail(int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "%s: ", program_name);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(code);
}

double option_number(const char *name, const char *text, double least, double most)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || *end || !(n >= least && n <= most))
		fail(USAGE, "--%s=%s is not a number from %g to %g", name, text, least, most);
	return n;
}

bool option_is(const char *name, const char *value, const char *first, const char *second)
{
	if (strcmp(value, first) && strcmp(value, second))
		fail(USAGE, "--%s=%s is none of %s, %s", name, value, first, second);
	return !strcmp(value, second);
}

static unsigned whole_number(const struct program_option *option, const char *text)
{
	double n = option_number(option->name, text, option->least, option->most);

	if (n != (double)(unsigned)n)
		fail(USAGE, "--%s=%s is not a whole number", option->name, text);
	return (unsigned)n;
}

static void take(const struct program_option *option, const char *value)
{
	if (option->on)
		*option->on = true;
	else if (option->off)
		*option->off = false;
	else if (option->text)
		*option->text = value;
	else if (option->number)
		*option->number = option_number(option->name, value, option->least, option->most);
	else if (option->whole)
		*option->whole = whole_number(option, value);
	else
		option->call(value);
}

void options_read(int argc, char **argv, const struct program_option *options, unsigned n,
		  const char *usage)
{
	struct option known[n + 2];

	for (unsigned i = 0; i < n; i++)
		known[i] = (struct option){
			.name = options[i].name,
			.has_arg =
				options[i].on || options[i].off ? no_argument : required_argument,
			.val = FIRST + (int)i,
		};
	known[n] = (struct option){ .name = "help", .val = HELP };
	known[n + 1] = (struct option){ 0 };
	for (int c; (c = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
		if (c == 'h' || c == HELP) {
			fputs(usage, stdout);
			exit(0);
		}
		if (c < FIRST)
			exit(USAGE);
		take(&options[c - FIRST], optarg);
	}
	if (optind != argc)
		fail(USAGE, "unexpected argument '%s'; see --help", argv[optind]);
}
