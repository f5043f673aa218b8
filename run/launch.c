/* SPDX-License-Identifier: MIT */
/*
 * `overlock`. It does plain `overlock run` itself: it becomes the program, with another lock preloaded.
 * It leaves everything else, and wrong options, to `overlock-tools`, the same command in Python, which
 * takes twenty times as long to start. Where it is not sure of the options, it becomes the Python
 * command, with the arguments and the environment that it was given.
 *
 * Only the launcher looks at programs and at LD_PRELOAD. The Python command asks it:
 *
 *	overlock _prepare [LIBRARY [PROGRAM]]
 *
 * prints the program's file (empty without one) and its environment, each with a zero byte behind it:
 * ours, without what an outer `overlock run` set there, and with the library preloaded.
 *
 * Both have the options from options.def and tunables.def.
 */
#include "aliases.h"
#include "defaults.h"
#include "environment.h"
#include "launch.h"
#include "tunable.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY LIBRARIES ".so"
#define SPINS	LIBRARIES "-spins.so"

enum {
#define PLAIN(name, ...) PLAIN_##name,
#include "options.def"
	PLAINS
};

struct asked {
	const char *plain[PLAINS];	  /* null: nothing is told to the library */
	const char *tunable[OL_TUNABLES]; /* null: as it is */
	char **program;			  /* and its arguments */
	const char *former;		  /* a name that a lock had */
	struct misunderstood wrong;
};

void refuse(int code, const char *format, ...)
{
	char *message;
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		message = strdup("no memory");
	va_end(args);
	for (char *c = message; c && *c; c++)
		if (isspace((unsigned char)*c)) /* names may have line breaks */
			*c = ' ';
	dprintf(STDERR_FILENO, "overlock: %s\n", message);
	_exit(code);
}

/* The command line. */

static const struct known {
	const char *id;
	uint32_t traits;
} locks[] = {
#define OL_LOCK(id, gives_up, traits, ...) { #id, traits },
#include <overlock/locks.def>
#undef OL_LOCK
};

static const struct known *lock_called(const char *id)
{
	for (const struct known *l = locks; l < locks + sizeof(locks) / sizeof(*locks); l++)
		if (!strcmp(l->id, id))
			return l;
	return 0;
}

static bool accepts_LOCK(const char *argument, const char *name)
{
	(void)argument;
	return lock_called(name) || !strcmp(name, GLIBC_ADAPTIVE);
}

static bool accepts_SPINLOCK(const char *argument, const char *name)
{
	const struct known *l = lock_called(name);

	(void)argument;
	return l ? !spin_refusal(l->traits)
		 : !strcmp(name, DEFAULT_SPINLOCK) || !strcmp(name, GLIBC);
}

static bool accepts_CHOICE(const char *choices, const char *value)
{
	const char *bar;

	for (; (bar = strchr(choices, '|')); choices = bar + 1)
		if (strlen(value) == (size_t)(bar - choices) &&
		    !strncmp(choices, value, strlen(value)))
			return true;
	return !strcmp(choices, value);
}

static bool accepts_FLAG(const char *argument, const char *value)
{
	return !strcmp(argument, value);
}

static const struct plain {
	const char *option, *argument, *preset, *variable;
	bool (*accepts)(const char *argument, const char *value);
} plains[PLAINS] = {
#define PLAIN(name, kind, argument, preset, variable, ...) \
	{ "--" #name, argument, preset, "OVERLOCK_" variable, accepts_##kind },
#include "options.def"
};

static const struct plain *plain_called(const char *option)
{
	for (const struct plain *p = plains; p < plains + PLAINS; p++)
		if (!strcmp(p->option, option))
			return p;
	return 0;
}

static bool take_plain(struct asked *a, const struct plain *p, const char *value)
{
	const char *now = p == &plains[PLAIN_lock] ? ol_now_called(value) : value;

	if (p == &plains[PLAIN_lock])
		a->former = now != value ? value : 0;
	if (p->accepts == accepts_FLAG && !*now)
		a->plain[p - plains] = "1";
	else
		a->plain[p - plains] = strcmp(now, p->preset) != 0 ? now : 0;
	return p->accepts(p->argument, now);
}

/* As digits without zeros before them, or inf. */
static const char *as_told(uint64_t value)
{
	char *text;

	if (value == UINT64_MAX)
		return "inf";
	return asprintf(&text, "%" PRIu64, value) < 0 ? 0 : text;
}

void option_of(const struct ol_tunable *t, char *option, size_t size)
{
	int n = snprintf(option, size, "--%s%s", t->name, ol_tunable_is_time(t) ? "-ns" : "");

	for (int i = 0; i < n; i++)
		if (option[i] == '_')
			option[i] = '-';
}

static bool is_option_of(const struct ol_tunable *t, const char *option)
{
	char name[64];

	option_of(t, name, sizeof(name));
	return !strcmp(name, option);
}

static bool take_tunable(struct asked *a, const char *option, const char *text)
{
	for (const struct ol_tunable *t = ol_tunables; t < ol_tunables + OL_TUNABLES; t++) {
		uint64_t value;

		if (is_option_of(t, option))
			return ol_tunable_parse(t, text, &value) &&
			       (a->tunable[t - ol_tunables] = as_told(value));
	}
	return false;
}

/* The option that may stand alone, its value. */
static const char *value_alone(const char *option)
{
	const struct plain *p = plain_called(option);

	return p && p->accepts == accepts_FLAG ? p->argument : 0;
}

static bool take(struct asked *a, const char *option, const char *value)
{
	const struct plain *p = plain_called(option);

	return p ? take_plain(a, p, value) : take_tunable(a, option, value);
}

/* An option's value is what follows `=`, or the next word if it has none alone; the last of a kind counts. */
static bool understand(struct asked *a, char **words)
{
	while (*words && (*words)[0] == '-' && (*words)[1]) {
		char *word = *words++, *equals = strchr(word, '='), *option;
		const char *alone = value_alone(word), *value;

		if (!strcmp(word, "--"))
			break;
		value = equals ? equals + 1 : alone ? alone : *words;
		option = equals ? strndup(word, (size_t)(equals - word)) : strdup(word);
		if (!option || !value || !take(a, option, value)) {
			a->wrong = (struct misunderstood){ option, value };
			return false;
		}
		free(option);
		words += !equals && !alone;
	}
	a->program = words;
	return *words;
}

/* Where things are. */

/* Of a file's full name, to be freed. */
static char *folder_of(const char *file)
{
	char *path = realpath(file, 0), *slash = path ? strrchr(path, '/') : 0;

	if (slash)
		*slash = 0;
	return path;
}

/* The folder with its links resolved, if it is a native one. */
static char *native(const char *folder)
{
	char *lists, *found = 0;

	if (asprintf(&lists, "%s/defs.json", folder) < 0)
		return 0;
	if (!access(lists, R_OK))
		found = realpath(folder, 0);
	free(lists);
	return found;
}

/* From our own folder, in this order. */
static const char *const places[] = {
	".",		   /* where it is built */
	"../lib/overlock", /* where it is installed; a checkout's .venv has a link there */
	"../lib/python3*/*-packages/overlock_tools/native", /* what pip unpacks */
	"../lib64/python3*/*-packages/overlock_tools/native",
	"../overlock_tools/native", /* pip install --target */
};

/* The one folder that fits the pattern; null if there are none or several. */
static char *native_at(const char *ours, const char *pattern)
{
	char *whole, *found = 0;
	glob_t g;

	if (asprintf(&whole, "%s/%s", ours, pattern) < 0)
		return 0;
	if (!glob(whole, 0, 0, &g)) {
		found = g.gl_pathc == 1 ? native(g.gl_pathv[0]) : 0;
		globfree(&g);
	}
	free(whole);
	return found;
}

static char *find_native(void)
{
	const char *named = secure_getenv("OVERLOCK_NATIVE");
	char *ours, *found = 0;

	if (named && *named)
		return native(named);
	ours = folder_of("/proc/self/exe");
	if (!ours || strpbrk(ours, "*?[\\")) /* they would mean something else in a pattern */
		return 0;
	for (size_t i = 0; !found && i < sizeof(places) / sizeof(*places); i++)
		found = native_at(ours, places[i]);
	free(ours);
	return found;
}

/* The loader splits its list of libraries there. */
static bool can_be_listed(const char *library)
{
	return !strpbrk(library, ": \t");
}

/* To be freed; null if it is not there, or cannot be preloaded from there. */
static char *find_library(const char *name)
{
	char *folder = find_native(), *library = 0;

	if (!folder || asprintf(&library, "%s/%s", folder, name) < 0)
		library = 0;
	if (library && (!can_be_listed(library) || access(library, R_OK))) {
		free(library);
		library = 0;
	}
	free(folder);
	return library;
}

/* The environment. */

/* These libraries, and behind them what was preloaded already; nothing is not set. */
static bool preload(const char *libraries, const char *already)
{
	char *list = ol_run_preloaded_beside(libraries, already);
	bool fine = list && (!*list || !setenv("LD_PRELOAD", list, 1));

	free(list);
	return fine;
}

static bool tell(const char *variable, const char *value)
{
	return !value || !setenv(variable, value, 1);
}

static bool tell_tunables(const struct asked *a)
{
	char name[64];

	for (size_t i = 0; i < OL_TUNABLES; i++) {
		ol_tunable_variable(&ol_tunables[i], name, sizeof(name));
		if (!tell(name, a->tunable[i]))
			return false;
	}
	return true;
}

/* Without what an outer `overlock run` set; the rest stays as it is, even what is no variable. */
static void prepare(const char *libraries)
{
	const char *list = getenv("LD_PRELOAD");
	char *already = list ? strdup(list) : 0;

	ol_run_remove_told();
	if ((list && !already) || !preload(libraries, already))
		refuse(CANNOT_START, "no memory");
	free(already);
}

/* Else a program whose waiting loops yield keeps its own locks. */
static bool names_a_lock(const struct asked *a)
{
	bool does = a->plain[PLAIN_lock] || a->plain[PLAIN_rwlock] || a->plain[PLAIN_spinlock] ||
		    a->plain[PLAIN_barrier] || a->plain[PLAIN_defer];

	for (size_t i = 0; i < OL_TUNABLES; i++)
		does |= a->tunable[i] != 0;
	return does;
}

static bool tell_plain(const struct asked *a)
{
	bool fine = true;

	for (size_t i = 0; i < PLAINS; i++)
		fine = fine && tell(plains[i].variable, a->plain[i]);
	return fine;
}

static bool tell_all(const struct asked *a)
{
	const char *lock = a->plain[PLAIN_lock], *spins = a->plain[PLAIN_spins];

	if (spins && !names_a_lock(a))
		return tell(plains[PLAIN_spins].variable, spins);
	return tell_plain(a) && tell_tunables(a) && tell("OVERLOCK_QUIET", "1") &&
	       (lock || (tell("OVERLOCK_LOCK", DEFAULT_LOCK) &&
			 tell("OVERLOCK_OPENMP_LOCK", DEFAULT_OPENMP_LOCK)));
}

static void tell_of_former(const struct asked *a)
{
	if (a->former)
		dprintf(STDERR_FILENO, "overlock: the lock %s is called %s now; use the new name\n",
			a->former, a->plain[PLAIN_lock]);
}

/* As LD_PRELOAD has them, to be freed; null if one is not found. */
static char *find_libraries(const struct asked *a)
{
	bool yields = a->plain[PLAIN_spins];
	char *spins = yields ? find_library(SPINS) : 0, *locks, *both;

	if (yields && (!spins || !names_a_lock(a)))
		return spins;
	locks = find_library(LIBRARY);
	if (!spins || !locks)
		return locks;
	return asprintf(&both, "%s:%s", spins, locks) < 0 ? 0 : both;
}

/* Returns if the library is not found, with the environment as it was. */
static void launch(struct asked *a)
{
	char *library = find_libraries(a), *program;

	a->wrong.value = a->plain[PLAIN_spins] ? SPINS
				 " is not found; it needs x86-64, and libzydis-dev to be built"
					       : LIBRARY " is not found; reinstall overlock";
	if (!library)
		return;
	program = find_program(*a->program);
	prepare(preloaded_into(program, library));
	if (!tell_all(a))
		refuse(CANNOT_START, "no memory");
	tell_of_former(a);
	execv(program, a->program);
	refuse(errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE, "%s cannot be executed: %s", program,
	       strerror(errno));
}

/* A list as LD_PRELOAD has it, of files; a file's own colon splits it into what is none. */
static bool are_files(const char *list)
{
	char *copy = strdup(list), *rest = copy, *file;
	bool all = copy;

	while (all && (file = strsep(&rest, ":")))
		all = can_be_listed(file) && !access(file, R_OK);
	free(copy);
	return all;
}

static int print_prepared(const char *library, const char *name)
{
	const char *program = name ? find_program(name) : "";

	if (library && !are_files(library))
		refuse(CANNOT_START,
		       "%s: the loader accepts no path with spaces or colons; install elsewhere",
		       library);
	prepare(name ? preloaded_into(program, library) : library);
	printf("%s%c", program, 0);
	for (char **variable = environ; *variable; variable++)
		printf("%s%c", *variable, 0);
	return fflush(stdout) ? CANNOT_START : 0;
}

/* To Python, beside us or on PATH. */
static _Noreturn void hand_over(char **words, const struct misunderstood *wrong)
{
	char *ours = folder_of("/proc/self/exe"), *beside = 0;

	if (ours && asprintf(&beside, "%s/" PYTHON_COMMAND, ours) > 0)
		execv(beside, words);
	execvp(PYTHON_COMMAND, words);
	answer_alone(words[0] ? words[1] : 0, wrong, strerror(errno));
}

int main(int argc, char **words)
{
	struct asked a = { .wrong.value = "there is no program to run; see `overlock run --help`" };

	if (argc > 1 && argc < 5 && !strcmp(words[1], "_prepare"))
		return print_prepared(words[2], argc > 3 ? words[3] : 0);
	/* A shell that completes a command line runs it with that variable. */
	if (argc > 2 && !strcmp(words[1], "run") && !getenv("_OVERLOCK_COMPLETE") &&
	    understand(&a, words + 2))
		launch(&a);
	hand_over(words, &a.wrong);
}
