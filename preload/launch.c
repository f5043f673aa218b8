/* SPDX-License-Identifier: MIT */
/*
 * `overlock`. What is ordinary of `overlock run` it does itself: it becomes the program, with another
 * lock preloaded. Everything else, errors first, it leaves to `overlock-tools`, the same command in
 * Python, which can do all this too but takes twenty times as long to start.
 *
 * So that the words for what went wrong have one home, nothing is told from here: where it is not
 * sure, it becomes the Python command, with the arguments and the environment that it was given. The
 * lists that both know by (locks, tunables, variables) are the same; tests/run/test_launch.py asks both.
 */
#include "defaults.h"
#include "environment.h"
#include "launch.h"
#include "tunable.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PYTHON_COMMAND "overlock-tools"
#define LIBRARY	       LIBRARIES ".so"

/* Exit codes as errors.py and run.py have them. */
enum { MISSING = 3, CANNOT_START = 125 };

struct asked {
	const char *lock, *rwlock, *spinlock; /* null: nothing is told to the library */
	const char *tunable[OL_TUNABLES];     /* null: as it is */
	char **program;			      /* and its arguments */
};

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

static bool take_spinlock(struct asked *a, const char *name)
{
	const struct known *l = lock_called(name);

	a->spinlock = l ? l->id : 0;
	return l ? !spin_refusal(l->traits) : !strcmp(name, GLIBC);
}

static bool take_rwlock(struct asked *a, const char *name)
{
	a->rwlock = strcmp(name, GLIBC) != 0 ? RWLOCK : 0;
	return !strcmp(name, RWLOCK) || !strcmp(name, GLIBC);
}

/* As digits without zeros before them, or inf. */
static const char *as_told(const struct ol_tunable *t, uint64_t value)
{
	char *text;

	if (t->unit == OL_UNIT_ns && value == UINT64_MAX)
		return "inf";
	return asprintf(&text, "%" PRIu64, value) < 0 ? 0 : text;
}

/* `--long-term`, and `--tau-ns` for a time. */
static bool is_option_of(const struct ol_tunable *t, const char *option)
{
	char name[64];
	int n = snprintf(name, sizeof(name), "--%s%s", t->name, t->unit == OL_UNIT_ns ? "-ns" : "");

	for (int i = 0; i < n; i++)
		if (name[i] == '_')
			name[i] = '-';
	return !strcmp(name, option);
}

static bool take_tunable(struct asked *a, const char *option, const char *text)
{
	for (const struct ol_tunable *t = ol_tunables; t < ol_tunables + OL_TUNABLES; t++) {
		uint64_t value;

		if (is_option_of(t, option))
			return ol_tunable_parse(t, text, &value) &&
			       (a->tunable[t - ol_tunables] = as_told(t, value));
	}
	return false;
}

static bool take(struct asked *a, const char *option, const char *value)
{
	if (!strcmp(option, "--lock"))
		return (a->lock = value) && (lock_called(value) || !strcmp(value, GLIBC_ADAPTIVE));
	if (!strcmp(option, "--rwlock"))
		return take_rwlock(a, value);
	if (!strcmp(option, "--spinlock"))
		return take_spinlock(a, value);
	return take_tunable(a, option, value);
}

/* Each of our options has a value, the next word or what follows `=`; the last of a kind counts. */
static bool understand(struct asked *a, char **words)
{
	while (*words && (*words)[0] == '-' && (*words)[1]) {
		char *option = *words++, *equals = strchr(option, '='), *copy;
		bool is_ours;

		if (!strcmp(option, "--"))
			break;
		if (!equals && !*words)
			return false;
		copy = equals ? strndup(option, (size_t)(equals - option)) : strdup(option);
		is_ours = copy && take(a, copy, equals ? equals + 1 : *words++);
		free(copy);
		if (!is_ours)
			return false;
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

/* To be freed; null where the loader's list of libraries cannot name it. */
static char *find_library(void)
{
	char *folder = find_native(), *library = 0;

	if (folder && !strpbrk(folder, ": \t") && asprintf(&library, "%s/" LIBRARY, folder) < 0)
		library = 0;
	free(folder);
	return library;
}

/* The environment. */

/* The library, and behind it what was preloaded already. */
static bool preload(const char *library, const char *already)
{
	char *list = ol_run_preloaded_beside(library, already);
	bool fine = list && !setenv("LD_PRELOAD", list, 1);

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

/* What is kept of it stays as it is, even where it is no variable. */
static bool tell_all(const struct asked *a, const char *library, const char *already)
{
	ol_run_remove_told();
	return tell("OVERLOCK_LOCK", a->lock ? a->lock : DEFAULT_LOCK) &&
	       tell("OVERLOCK_RWLOCK", a->rwlock) && tell("OVERLOCK_SPINLOCK", a->spinlock) &&
	       tell("OVERLOCK_QUIET", "1") && tell_tunables(a) && preload(library, already);
}

/* A copy that setenv() and unsetenv() may change. */
static char **copy_of(char **variables)
{
	size_t n = 0;
	char **copy;

	while (variables[n])
		n++;
	copy = malloc((n + 1) * sizeof(*copy));
	return copy ? memcpy(copy, variables, (n + 1) * sizeof(*copy)) : 0;
}

/* Returns if it has not become the program, with the environment as it was. */
static void launch(const struct asked *a)
{
	char **given = environ, *library = find_library(), *program = find_program(*a->program);

	if (library && program && takes_library(program, library) && (environ = copy_of(given)) &&
	    tell_all(a, library, getenv("LD_PRELOAD")))
		execv(program, a->program);
	environ = given;
	free(library);
	free(program);
}

/* Beside us, or on PATH. */
static _Noreturn void hand_over(char **words)
{
	char *ours = folder_of("/proc/self/exe"), *beside = 0;

	if (ours && asprintf(&beside, "%s/" PYTHON_COMMAND, ours) > 0)
		execv(beside, words);
	execvp(PYTHON_COMMAND, words);
	dprintf(STDERR_FILENO,
		"overlock: cannot start " PYTHON_COMMAND ": %s; install it with `pip install .` in "
		"overlock's sources\n",
		strerror(errno));
	_exit(words[0] && words[1] && !strcmp(words[1], "run") ? CANNOT_START : MISSING);
}

int main(int argc, char **words)
{
	struct asked a = { 0 };

	/* A shell that completes a command line runs it with that variable. */
	if (argc > 2 && !strcmp(words[1], "run") && !getenv("_OVERLOCK_COMPLETE") &&
	    understand(&a, words + 2))
		launch(&a);
	hand_over(words);
}
