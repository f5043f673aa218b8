/* SPDX-License-Identifier: MIT */
#ifndef CASES_H
#define CASES_H
/*
 * A case is FAMILY/KIND/STATE/CALL: an object of that kind is made, brought into that state, the call
 * is made by the case's own thread, and the case prints what the call answered, whether it changed errno,
 * and how it left the object. What each must print is in table.toml. No case depends on how long anything takes, but
 * that threads run at all.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define SAID_LENGTH	160

/* What a case says; it may only grow. */
struct said {
	char text[SAID_LENGTH];
};
void say(struct said *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct kind {
	const char *name;
	void (*make)(void *object); /* in storage full of rubbish, but for static initialisers */
};

struct state {
	const char *name;
	void (*reach)(void *object);
};

struct call {
	const char *name;
	int (*make)(void *object);
};

/* Each list ends with a null name. */
struct family {
	const char *name;
	const struct kind *kinds;
	const struct state *states;
	const struct call *calls;
	size_t size; /* of an object */
	/* Releases what the state's other thread holds, for a call that waits for it. */
	int (*let_go)(void *object);
	const char *(*answer)(int result);
	/* How the call left the object; null: nothing to see, and any call may be followed by it. */
	const char *(*look)(void *object);
	bool keeps_errno; /* no call may change it */
};

extern const struct family mutexes, rwlocks, spinlocks, conditions, c11_mutexes, openmp_locks;

const char *errno_answer(int result);

/* The case's other thread: makes calls one at a time, and lives until the case ends. */
int by_other(int (*function)(void *), void *object);

/* A thread made for this one call. */
int by_fresh(int (*function)(void *), void *object);

/* The rest of the case happens in the child of a fork. */
void go_on_in_child(void);

#define DAY_MS	86400000L
struct timespec in_ms(clockid_t clock, long ms);
extern const struct timespec long_past, before_1970, no_time;

/* A call `NAME`, on the object as the TYPE that it is. */
#define CALL(type, name, expression)		\
	static int name(void *object)		\
	{					\
		type *o = object;		\
						\
		return expression;		\
	}

#define ONCE(how, clock, ms)	({ struct timespec t = in_ms(clock, ms); how; })
#endif
