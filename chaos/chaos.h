/* SPDX-License-Identifier: MIT */
#ifndef OL_CHAOS_H
#define OL_CHAOS_H
/*
 * The library of `overlock chaos`. Calls go on to glibc; at each, a thread may first sleep. To all
 * others that is as if the kernel had taken its CPU: it makes no step, whatever it holds.
 *
 * A decision depends on the seed, the thread (by its place in the tree of creations), the site and on
 * how often this thread was there, and on nothing else. So sites can be left out one by one, as
 * `--bisect` does, and the others go on as before.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

enum chaos_kind {
#define CHAOS_KIND(name, what) CHAOS_##name,
#include "kinds.def"
#undef CHAOS_KIND
	CHAOS_KINDS
};

/* What the calls go on to; real.def. */
struct chaos_real {
#define REAL(type, name, version, parameters) type (*name) parameters;
#include "real.def"
#undef REAL
};
extern struct chaos_real ol_chaos_real;

/* Whether every call only goes on, since the rate is 0. False before the start. */
extern bool ol_chaos_idle;

/* Starts the library, if nobody has. */
void ol_chaos_begin(void);

struct chaos_site;

/* The site of a call; null if there is no room for it, or while idle. Starts the library. */
struct chaos_site *ol_chaos_site(enum chaos_kind kind, const void *caller);

/* Whether this thread is to lose its CPU at this visit, and for how long in ns; else 0. */
uint64_t ol_chaos_draw(struct chaos_site *s);

/* Loses it. */
void ol_chaos_nap(struct chaos_site *s, uint64_t ns);

/* All three. */
void ol_chaos_visit(enum chaos_kind kind, const void *caller);

/* Around a call that may wait. */
uint64_t ol_chaos_wait_begin(struct chaos_site *s);
void ol_chaos_wait_end(struct chaos_site *s, uint64_t began);

/* Threads: the place in the tree of one that the caller creates; what a new one is told of its own. */
uint64_t ol_chaos_child(void);
void ol_chaos_thread_start(uint64_t place);
#endif
