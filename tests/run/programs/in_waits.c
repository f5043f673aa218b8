/* SPDX-License-Identifier: MIT */
/*
 * Whatever is done in a call to lock or unlock: threads that are cancelled already, with an allocator that does not take
 * calls meanwhile. All sections are done nevertheless, and every lock can be had in the end: then it prints "fine".
 * Some waits last long enough to sleep, one for 0.3 s.
 */
#include "room.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, SECTIONS = 40, SITES = 64, LONG_NS = 300000000, SHORT_NS = 300000 };

static _Thread_local int inside;

static void refuse(const char *what)
{
	if (write(2, what, strlen(what)) > 0)
		_exit(3);
	_exit(4);
}

void *malloc(size_t size)
{
	if (inside)
		refuse("malloc() in a lock\n");
	return take(size);
}

void free(void *p)
{
	if (inside && p)
		refuse("free() in a lock\n");
}

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t nobody = PTHREAD_COND_INITIALIZER;
static int done, sites;

#define WITHIN(call)                          \
	do {                                  \
		inside++;                     \
		if (call)                     \
			refuse("error\n");    \
		inside--;                     \
	} while (0)

/* Sleeping would be a cancellation point. */
static void hold(long ns)
{
	struct timespec began, now;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - began.tv_sec) * 1000000000 + now.tv_nsec - began.tv_nsec < ns);
}

static void section(int n)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 100;
	WITHIN(n % 2 ? pthread_mutex_timedlock(&outer, &until) : pthread_mutex_lock(&outer));
	WITHIN(pthread_mutex_lock(&inner));
	if (n % 4 == 0)
		hold(SHORT_NS);
	done++;
	WITHIN(pthread_mutex_unlock(&inner));
	WITHIN(pthread_cond_signal(&nobody));
	WITHIN(pthread_mutex_unlock(&outer));
}

#define SITE()                                       \
	do {                                         \
		WITHIN(pthread_mutex_lock(&inner));  \
		sites++;                             \
		WITHIN(pthread_mutex_unlock(&inner)); \
	} while (0);
#define SITE_8() SITE() SITE() SITE() SITE() SITE() SITE() SITE() SITE()

/* Many calls, so that records need more memory. */
static void visit_sites(void)
{
	SITE_8() SITE_8() SITE_8() SITE_8() SITE_8() SITE_8() SITE_8() SITE_8()
}

static void *work(void *unused)
{
	pthread_cancel(pthread_self());
	for (int n = 0; n < SECTIONS; n++)
		section(n);
	visit_sites();
	pthread_testcancel();
	return unused;
}

static void wanted(const char *what, int is, int should)
{
	if (is == should)
		return;
	printf("%s: %d of %d\n", what, is, should);
	exit(1);
}

int main(void)
{
	pthread_t threads[THREADS];
	void *result;

	WITHIN(pthread_mutex_lock(&outer));
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], 0, work, 0))
			return 2;
	hold(LONG_NS);
	WITHIN(pthread_mutex_unlock(&outer));
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		wanted("cancelled", result == PTHREAD_CANCELED, 1);
	}
	wanted("sections", done, THREADS * SECTIONS);
	wanted("visits", sites, THREADS * SITES);
	wanted("free", !pthread_mutex_trylock(&outer) && !pthread_mutex_trylock(&inner), 1);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
	puts("fine");
	return fflush(stdout);
}
