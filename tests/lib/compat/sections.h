/* SPDX-License-Identifier: MIT */
/*
 * What every lock must do, asked of each lock that a program lists. In C and C++. A program includes this
 * after the library whose API it uses.
 *
 *	PROGRAM THREADS SECTIONS HANG_S
 *
 * What is not so ends the program with 1. What waits for ever ends it by SIGALRM after HANG_S seconds.
 */
#ifndef SECTIONS_H
#define SECTIONS_H
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(what)									\
	do {										\
		if (!(what)) {								\
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
			_exit(1);							\
		}									\
	} while (0)

struct kind {
	const char *name;
	void (*lock)(void);
	int (*trylock)(void); /* null if it has none */
	void (*unlock)(void);
	int (*locked)(void);
	bool moves;	    /* another thread may release it */
	void (*read)(void); /* null, or takes it for readers */
	void (*unread)(void);
};

/* The calls of a kind as functions: `try_` and `locked_` are expressions, the others statements. */
#define CALLS(name, lock_, try_, unlock_, locked_)	\
	static void name##_lock(void)			\
	{						\
		lock_;					\
	}						\
	static int name##_trylock(void)			\
	{						\
		return try_;				\
	}						\
	static void name##_unlock(void)			\
	{						\
		unlock_;				\
	}						\
	static int name##_locked(void)			\
	{						\
		return locked_;				\
	}
#define KIND(name, moves) { #name, name##_lock, name##_trylock, name##_unlock, name##_locked, moves, 0, 0 }

/* Counts the yields of our waiters; linked in only where the lock is ours and yields. */
#ifdef __cplusplus
extern "C" {
#endif
extern unsigned long yields __attribute__((weak));
#ifdef __cplusplus
}
#endif

static struct shared {
	volatile int inside;   /* writers in a section */
	volatile long written; /* sections; not atomic, so that overlapping ones lose some */
} *shared;

struct work {
	const struct kind *kind;
	long sections;
};

static inline void *call_lock(void *kind)
{
	((const struct kind *)kind)->lock();
	return kind;
}

static inline void *call_unlock(void *kind)
{
	((const struct kind *)kind)->unlock();
	return kind;
}

static inline void *call_trylock(void *kind)
{
	return ((const struct kind *)kind)->trylock() ? kind : 0;
}

static inline void *call_pair(void *kind)
{
	call_lock(kind);
	return call_unlock(kind);
}

static inline pthread_t start(void *(*call)(void *), const void *what)
{
	pthread_t thread;

	EXPECT(!pthread_create(&thread, 0, call, (void *)(uintptr_t)what));
	return thread;
}

/* What the call returns in another thread, which ends. */
static inline bool elsewhere(void *(*call)(void *), const struct kind *kind)
{
	void *found;

	pthread_join(start(call, kind), &found);
	return found;
}

static inline void write_section(const struct kind *k, bool by_try)
{
	if (by_try)
		while (!k->trylock())
			sched_yield();
	else
		k->lock();
	EXPECT(shared->inside == 0);
	shared->inside = 1;
	sched_yield();
	shared->written = shared->written + 1;
	EXPECT(shared->inside == 1);
	shared->inside = 0;
	k->unlock();
}

static inline void read_section(const struct kind *k)
{
	k->read();
	EXPECT(shared->inside == 0);
	sched_yield();
	EXPECT(shared->inside == 0);
	k->unread();
}

static inline void *work(void *given)
{
	const struct work *w = (const struct work *)given;

	for (long i = 0; i < w->sections; i++) {
		write_section(w->kind, w->kind->trylock && i % 4 == 1);
		if (w->kind->read)
			read_section(w->kind);
	}
	return 0;
}

/* Some sched_yield() within each section lets the other threads break in, if the lock does not exclude. */
static inline void exclude(const struct kind *k, int threads, long sections)
{
	struct work w = { k, sections };
	pthread_t *started = (pthread_t *)calloc((size_t)threads, sizeof(*started));

	shared->written = 0;
	for (int i = 0; i < threads; i++)
		started[i] = start(work, &w);
	for (int i = 0; i < threads; i++)
		pthread_join(started[i], 0);
	free(started);
	EXPECT(shared->written == threads * sections);
	EXPECT(!k->locked());
}

/* The same by processes, for a lock that lies in `shared` memory. */
static inline void exclude_processes(const struct kind *k, int processes, long sections)
{
	struct work w = { k, sections };
	int status;

	shared->written = 0;
	for (int i = 0; i < processes; i++) {
		pid_t child = fork();

		EXPECT(child >= 0);
		if (!child) {
			work(&w);
			_exit(0);
		}
	}
	for (int i = 0; i < processes; i++) {
		EXPECT(wait(&status) > 0);
		EXPECT(status == 0);
	}
	EXPECT(shared->written == processes * sections);
	EXPECT(!k->locked());
}

static inline void states(const struct kind *k)
{
	EXPECT(!k->locked());
	k->lock();
	EXPECT(k->locked());
	if (k->trylock)
		EXPECT(!elsewhere(call_trylock, k));
	k->unlock();
	EXPECT(!k->locked());
	if (k->trylock) {
		EXPECT(k->trylock());
		EXPECT(k->locked());
		EXPECT(!elsewhere(call_trylock, k));
		k->unlock();
		EXPECT(!k->locked());
	}
	if (k->moves) {
		k->lock();
		elsewhere(call_unlock, k);
		EXPECT(!k->locked());
	}
}

/* A waiter gives its CPU away: it does so again and again until the lock is free. */
static inline void waiters_yield(const struct kind *k)
{
	unsigned long before = __atomic_load_n(&yields, __ATOMIC_RELAXED);
	pthread_t waiter;

	k->lock();
	waiter = start(call_pair, k);
	while (__atomic_load_n(&yields, __ATOMIC_RELAXED) < before + 3)
		sched_yield();
	k->unlock();
	pthread_join(waiter, 0);
}

static inline void begin(char **argv)
{
	alarm((unsigned)atoi(argv[3]));
	shared = (struct shared *)mmap(0, sizeof(*shared), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(shared != MAP_FAILED);
}

static inline void judge(const struct kind *kinds, size_t n, char **argv)
{
	for (size_t i = 0; i < n; i++) {
		printf("%s\n", kinds[i].name);
		fflush(stdout);
		states(&kinds[i]);
		exclude(&kinds[i], atoi(argv[1]), atol(argv[2]));
		if (&yields)
			waiters_yield(&kinds[i]);
	}
}
#endif
