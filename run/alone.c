/* SPDX-License-Identifier: MIT */
/* What `overlock` answers itself where its Python command cannot be started. */
#include "defaults.h"
#include "launch.h"
#include "tunable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTALL	      "install the package overlock-tools, or `pip install .` in overlock's sources"
#define LONGEST	      64
#define LESS(a, b)    ((a) < (b) ? (a) : (b))

static const struct {
	const char *id, *what;
} described[] = {
#define OL_LOCK(id, gives_up, traits, source, what) { #id, what },
#include <overlock/locks.def>
#undef OL_LOCK
};

enum { LOCKS = sizeof(described) / sizeof(*described) };

static const char help[] =
	"Usage: overlock COMMAND ...\n"
	"\n"
	"  overlock run [OPTIONS] [--] PROGRAM   start PROGRAM with another lock inside\n"
	"  overlock run --help                   the options\n"
	"  overlock locks                        the locks\n"
	"  overlock --version\n"
	"\n"
	"All else (doctor, bench, check, counters ...) needs the Python command, " PYTHON_COMMAND
	":\n" INSTALL ".\n";

static const char run_help[] = "Usage: overlock run [OPTIONS] [--] PROGRAM [ARGS]...\n"
			       "\n"
			       "The first name of each is the default.\n"
			       "\n"
#define PLAIN(name, kind, argument, preset, variable, brief, what) "  --" #name " " brief "\n"
#include "options.def"
			       "  --TUNABLE N        such as --spin-ns 2000; TUNABLE is one of:\n";

/* Letters to insert, remove or replace (Levenshtein). */
static size_t distance(const char *a, const char *b)
{
	size_t row[LONGEST + 1], length = strlen(b);

	if (length > LONGEST)
		return SIZE_MAX;
	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t corner = row[0]++;

		for (size_t j = 0; j < length; j++) {
			size_t replaced = corner + (a[i] != b[j]);

			corner = row[j + 1];
			row[j + 1] = LESS(replaced, LESS(row[j], corner) + 1);
		}
	}
	return row[length];
}

static _Noreturn void refuse_lock(const char *name)
{
	const char *near = 0;
	size_t least = strlen(name) / 3 + 1; /* a close name shares two letters of three */

	for (size_t l = 0; l < LOCKS; l++) {
		size_t far = distance(name, described[l].id);

		if (far < least) {
			near = described[l].id;
			least = far;
		}
	}
	refuse(CANNOT_START, "unknown lock '%s'; %s%s%s`overlock locks` lists them", name,
	       near ? "did you mean " : "", near ? near : "", near ? "? " : "");
}

static void list_locks(void)
{
	for (size_t l = 0; l < LOCKS; l++)
		printf("%-22s %s\n", described[l].id, described[l].what);
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static void show_run_help(void)
{
	fputs(run_help, stdout);
	for (const struct ol_tunable *t = ol_tunables; t < ol_tunables + OL_TUNABLES; t++) {
		char option[LONGEST];

		option_of(t, option, sizeof(option));
		printf("    %s\n", option);
	}
	puts("\nMore (--counters, --stacks, --check ...) needs " PYTHON_COMMAND ":\n" INSTALL ".");
}

static void refuse_tunable(const char *option, const char *value)
{
	for (const struct ol_tunable *t = ol_tunables; t < ol_tunables + OL_TUNABLES; t++) {
		char ours[LONGEST];

		option_of(t, ours, sizeof(ours));
		if (!strcmp(ours, option))
			refuse(CANNOT_START, "%s %s: %s", option, value, t->expected);
	}
}

static void answer_run(const struct misunderstood *m, const char *why)
{
	if (!m->option)
		refuse(CANNOT_START, "%s", m->value);
	if (is_help(m->option)) {
		show_run_help();
		return;
	}
	if (m->value) {
		if (!strcmp(m->option, "--lock") && !strpbrk(m->value, "./"))
			refuse_lock(m->value);
		refuse_tunable(m->option, m->value);
	}
	refuse(CANNOT_START,
	       "run %s needs " PYTHON_COMMAND ", which cannot be started: %s; " INSTALL, m->option,
	       why);
}

void answer_alone(const char *command, const struct misunderstood *m, const char *why)
{
	if (!command || is_help(command))
		fputs(help, stdout);
	else if (!strcmp(command, "--version"))
		puts("overlock, version " OL_VERSION);
	else if (!strcmp(command, "locks"))
		list_locks();
	else if (!strcmp(command, "run"))
		answer_run(m, why);
	else
		refuse(MISSING,
		       "%s needs " PYTHON_COMMAND ", which cannot be started: %s; " INSTALL,
		       command, why);
	exit(fflush(stdout) ? 1 : 0);
}
