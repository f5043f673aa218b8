/* SPDX-License-Identifier: MIT */
#ifndef OL_CHECK_H
#define OL_CHECK_H
/*
 * The checked library: it knows the owner of every mutex of ours, whatever its kind, and tells of
 * misuse and of waits that do not end. Elsewhere nothing of this is left.
 */
#include "preload.h"

/* What it tells of; OL_FINDING(name, what). */
#define FINDING_LIST                                                                              \
	OL_FINDING(deadlock, "threads that wait for each other for ever")                         \
	OL_FINDING(long_wait, "a wait longer than --deadlock-timeout")                            \
	OL_FINDING(relock, "locked again by its holder, which now waits for itself")              \
	OL_FINDING(foreign_unlock, "unlocked by a thread that does not hold it")                  \
	OL_FINDING(free_unlock, "unlocked while free; the call has no effect")                    \
	OL_FINDING(destroy_held, "destroyed while held")                                          \
	OL_FINDING(init_held, "initialised while held")                                           \
	OL_FINDING(init_again, "initialised again elsewhere without pthread_mutex_destroy()")

enum finding {
#define OL_FINDING(name, what) FOUND_##name,
	FINDING_LIST
#undef OL_FINDING
};

#ifdef OL_CHECKED
#define IS_CHECKED	true

void check_start(void);
void check_renew(void); /* in the child of a fork */

/* Around a wait without a deadline. */
void check_wait(const struct mutex *m);
void check_wait_over(void);
void check_nap(ol_ticks_t began); /* for waits that the lock knows nothing of */

void check_relock(const struct mutex *m);
bool check_unlock(const struct mutex *m, bool is_mine); /* false: better not */
void check_init(const struct mutex *m);
void check_destroy(const struct mutex *m, bool is_locked);

/* Everything found so far, as a list's elements in JSON; empty if there is nothing. */
const char *findings(void);
#else
#define IS_CHECKED	false

static inline void check_start(void)
{
}
static inline void check_renew(void)
{
}
static inline void check_wait(const struct mutex *m)
{
	(void)m;
}
static inline void check_wait_over(void)
{
}
static inline void check_nap(ol_ticks_t began)
{
	(void)began;
}
static inline void check_relock(const struct mutex *m)
{
	(void)m;
}
static inline bool check_unlock(const struct mutex *m, bool is_mine)
{
	(void)m;
	(void)is_mine;
	return true;
}
static inline void check_init(const struct mutex *m)
{
	(void)m;
}
static inline void check_destroy(const struct mutex *m, bool is_locked)
{
	(void)m;
	(void)is_locked;
}
static inline const char *findings(void)
{
	return "";
}
#endif
#endif
