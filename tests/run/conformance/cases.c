/* SPDX-License-Identifier: MIT */
/*
 * Reads cases from the standard input, one a line, and prints `CASE: WHAT IT SAID` for each. After
 * the name `waits` may stand: then the other thread lets go of the object while the call is under way.
 *
 *	cases [--seconds N] [--exec]	each case in a child of its own; --exec: by a new execution
 *	cases --one CASE [waits]	that case, in this process
 *	cases --list			the words that names are made of
 */
#define _GNU_SOURCE
#include "cases.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef FAMILIES /* of another program of cases */
#define FAMILIES &mutexes, &rwlocks, &spinlocks, &conditions, &c11_mutexes
#endif
static const struct family *const families[] = { FAMILIES, 0 };

const struct timespec long_past = { 1, 0 }, before_1970 = { -5, 0 }, no_time = { 1, 1000000000 };

void say(struct said *s, const char *format, ...)
{
	size_t used = strlen(s->text);
	va_list args;

	va_start(args, format);
	vsnprintf(s->text + used, sizeof(s->text) - used, format, args);
	va_end(args);
}

const char *errno_answer(int result)
{
	return result ? strerrorname_np(result) : "0";
}

struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + (t.tv_nsec >= 1000000000);
	t.tv_nsec %= 1000000000;
	return t;
}

/* Semaphores, which nobody replaces, pass the calls on. */

static struct {
	pthread_t thread;
	bool lives;
	sem_t asked, done;
	int (*function)(void *);
	void *object;
	int result;
} other;

static void *serve(void *unused)
{
	for (;;) {
		while (sem_wait(&other.asked))
			;
		other.result = other.function(other.object);
		sem_post(&other.done);
	}
	return unused;
}

static void ask_other(int (*function)(void *), void *object)
{
	if (!other.lives) {
		sem_init(&other.asked, 0, 0);
		sem_init(&other.done, 0, 0);
		other.lives = !pthread_create(&other.thread, 0, serve, 0);
	}
	other.function = function;
	other.object = object;
	sem_post(&other.asked);
}

static int other_said(void)
{
	while (sem_wait(&other.done))
		;
	return other.result;
}

int by_other(int (*function)(void *), void *object)
{
	ask_other(function, object);
	return other_said();
}

struct one_call {
	int (*function)(void *);
	void *object;
	int result;
};

static void *make_call(void *arg)
{
	struct one_call *c = arg;

	c->result = c->function(c->object);
	return 0;
}

int by_fresh(int (*function)(void *), void *object)
{
	struct one_call c = { function, object, 0 };
	pthread_t thread;

	pthread_create(&thread, 0, make_call, &c);
	pthread_join(thread, 0);
	return c.result;
}

void go_on_in_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the alarm ends the parent */
		other.lives = false;		  /* it is not here */
		return;
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		kill(getpid(), WTERMSIG(status));
	_exit(WEXITSTATUS(status));
}

/* One case. */

struct chosen {
	const struct family *family;
	const struct kind *kind;
	const struct state *state;
	const struct call *call;
};

#define FIND(list, word)						\
	({								\
		typeof(&*(list)) at = (list);				\
		while (at->name && strcmp(at->name, word) != 0)		\
			at++;						\
		at->name ? at : NULL;					\
	})

static bool choose(const char *name, struct chosen *c)
{
	char family[32], kind[64], state[64], call[64];

	if (sscanf(name, "%31[^/]/%63[^/]/%63[^/]/%63[^/\n]", family, kind, state, call) != 4)
		return false;
	for (const struct family *const *f = families; *f; f++) {
		if (strcmp((*f)->name, family) != 0)
			continue;
		c->family = *f;
		c->kind = FIND((*f)->kinds, kind);
		c->state = FIND((*f)->states, state);
		c->call = FIND((*f)->calls, call);
		return c->kind && c->state && c->call;
	}
	return false;
}

struct letting_go {
	const struct family *family;
	void *object;
	volatile bool done;
};

/* Later, so that the call is likely to be under way; if it is not, less is tested, that is all. */
static int let_go(void *arg)
{
	struct letting_go *l = arg;

	usleep(2000);
	l->done = true;
	return l->family->let_go(l->object);
}

enum { ERRNO_BEFORE = 77 };

static void run_case(const struct chosen *c, bool waits, struct said *s)
{
	static _Alignas(64) unsigned char storage[512];
	struct letting_go l = { c->family, storage, false };
	bool changed;
	int result;

	memset(storage, 0x5a, sizeof(storage));
	c->kind->make(storage);
	c->state->reach(storage);
	if (waits)
		ask_other(let_go, &l);
	errno = ERRNO_BEFORE;
	result = c->call->make(storage);
	changed = c->family->keeps_errno && errno != ERRNO_BEFORE;
	if (waits)
		say(s, l.done ? "waits, " : "did not wait, ");
	say(s, "%s", c->family->answer(result));
	if (changed)
		say(s, ", errno changed");
	if (waits && other_said())
		say(s, ", the other could not let go");
	if (c->family->look)
		say(s, ", %s", c->family->look(storage));
}

static int run_here(const char *name, bool waits)
{
	struct said s = { "" };
	struct chosen c;

	if (!choose(name, &c)) {
		fprintf(stderr, "cases: there is no case %s; see --list\n", name);
		return 2;
	}
	run_case(&c, waits, &s);
	printf("%s\n", s.text);
	fflush(stdout);
	_exit(0); /* other threads may hold anything */
}

/* Each in a child, which an alarm ends. */

static void alarm_in(double seconds)
{
	struct itimerval t = { .it_value = {
				       (time_t)seconds,
				       (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) } };

	setitimer(ITIMER_REAL, &t, 0);
}

static void run_apart(const char *name, bool waits, double seconds, const char *self)
{
	char said[SAID_LENGTH] = "";
	size_t n = 0;
	int ends[2], status;
	ssize_t got;
	pid_t pid;

	if (pipe(ends))
		exit(3);
	pid = fork();
	if (!pid) {
		alarm_in(seconds);
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		if (self)
			execl(self, self, "--one", name, waits ? "waits" : NULL, NULL);
		else
			_exit(run_here(name, waits));
		_exit(3);
	}
	close(ends[1]);
	while (n < sizeof(said) - 1 && (got = read(ends[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	close(ends[0]);
	waitpid(pid, &status, 0);
	said[strcspn(said, "\n")] = 0;
	if (WIFSIGNALED(status))
		printf("%s: %s\n", name,
		       WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		exit(WEXITSTATUS(status));
	else
		printf("%s: %s\n", name, said);
	fflush(stdout);
}

static void list(void)
{
#define WORDS(what)					\
	for (typeof(&*(*f)->what) at = (*f)->what; at->name; at++)	\
		printf("%s %s %s\n", (*f)->name, #what, at->name);
	for (const struct family *const *f = families; *f; f++) {
		WORDS(kinds)
		WORDS(states)
		WORDS(calls)
	}
#undef WORDS
}

int main(int argc, char **argv)
{
	const char *self = 0;
	double seconds = 20;
	char line[256];

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--list"))
			return list(), 0;
		if (!strcmp(argv[i], "--one") && i + 1 < argc)
			return run_here(argv[i + 1], i + 2 < argc);
		if (!strcmp(argv[i], "--exec"))
			self = argv[0];
		else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
			seconds = atof(argv[++i]);
		else
			return fputs("usage: cases [--seconds N] [--exec] < NAMES\n", stderr), 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		char *waits = strchr(line, ' ');

		line[strcspn(line, " \n")] = 0;
		run_apart(line, waits, seconds, self);
	}
	return 0;
}
