/* SPDX-License-Identifier: MIT */
#ifndef OL_RUN_DIAG_H
#define OL_RUN_DIAG_H
/*
 * All that the interposer asks of its diagnostics: which lock a mutex gets, and what is counted, found
 * and reported. Nothing else in this folder is for its other sources to include.
 */
#include <overlock/ops.h>

struct mutex;

#pragma GCC visibility push(hidden)

/* choice.c */

/*
 * By the number in a mutex's kind; null where it is glibc's mutex, and where rules have yet to decide.
 * Constant after the start.
 */
extern const struct ol_lock_ops **ol_run_choices;

extern bool ol_run_has_rules; /* else nothing is decided */

/* With these locks where no rule says another; the kind of the mutexes that have the first. */
uint32_t ol_run_choices_start(const struct ol_lock_ops *preset, const struct ol_lock_ops *openmp);

/* Sees to it that the mutex has its lock, for good; its kind from then on. */
uint32_t ol_run_decide(struct mutex *m, const void *site);

/* What a lock of OpenMP that is made there has in its kind: it never changes. */
uint32_t ol_run_openmp_kind(const void *site);

/* What they have where no rule says another; null while none was made. */
const struct ol_lock_ops *ol_run_openmp_lock(void);

/* Calls `each` for every rule, in order, until it answers false; then it does too. */
bool ol_run_rules_each(bool (*each)(const char *pattern, const char *lock, uint64_t mutexes,
				    void *arg),
		       void *arg);

/*
 * misuse.c: the checked library knows the owner of every mutex that it replaces, whatever its kind, and
 * reports misuse and waits that do not end. Elsewhere these calls do nothing.
 */

#ifdef OL_CHECKED
#define IS_CHECKED	true

void ol_run_misuse_start(void);
void ol_run_misuse_renew(void); /* in the child of a fork */

/* Around a wait without a deadline. */
void ol_run_misuse_wait(const struct mutex *m);
void ol_run_misuse_wait_over(void);
void ol_run_misuse_nap(ol_ticks_t began); /* for waits that the lock knows nothing of */

void ol_run_misuse_relock(const struct mutex *m);
bool ol_run_misuse_unlock(const struct mutex *m, bool is_mine); /* false: better not */
void ol_run_misuse_init(const struct mutex *m);
void ol_run_misuse_destroy(const struct mutex *m, bool is_locked);

#else
#define IS_CHECKED	false

static inline void ol_run_misuse_start(void)
{
}
static inline void ol_run_misuse_renew(void)
{
}
static inline void ol_run_misuse_wait(const struct mutex *m)
{
	(void)m;
}
static inline void ol_run_misuse_wait_over(void)
{
}
static inline void ol_run_misuse_nap(ol_ticks_t began)
{
	(void)began;
}
static inline void ol_run_misuse_relock(const struct mutex *m)
{
	(void)m;
}
static inline bool ol_run_misuse_unlock(const struct mutex *m, bool is_mine)
{
	(void)m;
	(void)is_mine;
	return true;
}
static inline void ol_run_misuse_init(const struct mutex *m)
{
	(void)m;
}
static inline void ol_run_misuse_destroy(const struct mutex *m, bool is_locked)
{
	(void)m;
	(void)is_locked;
}
#endif

/* report.c, demand.c, stacks.c: the counted library only. */

/* In a function that programs call: where from. */
#define CALLER		__builtin_return_address(0)

#ifdef OL_COUNTED
#define IS_COUNTED	true
#include "counting.h"

/* What was left to glibc, or served at a price; OL_LEFT(name, what). */
#define LEFT_LIST                                                                         \
	OL_LEFT(shared_mutex, "acquisitions of process-shared mutexes, left to glibc")    \
	OL_LEFT(robust_mutex, "acquisitions of robust mutexes, left to glibc")            \
	OL_LEFT(priority_mutex, "acquisitions of mutexes with a priority protocol, left to glibc") \
	OL_LEFT(mutex_by_rule, "acquisitions of mutexes left to glibc by a rule")         \
	OL_LEFT(shared_condition, "waits on process-shared condition variables, left to glibc") \
	OL_LEFT(mixed_wait, "waits on process-shared condition variables with a replaced mutex")  \
	OL_LEFT(rwlock, "acquisitions of rwlocks, left to glibc: see --rwlock")                   \
	OL_LEFT(shared_rwlock, "acquisitions of process-shared rwlocks, left to glibc")           \
	OL_LEFT(spinlock, "acquisitions of spinlocks, left to glibc: see --spinlock")             \
	OL_LEFT(shared_spinlock, "process-shared spinlocks: every process that uses one must run under --spinlock") \
	OL_LEFT(barrier, "waits at barriers, left to glibc: see --barrier")                       \
	OL_LEFT(shared_barrier, "waits at process-shared barriers, left to glibc")                \
	OL_LEFT(openmp, "calls of OpenMP lock routines, left to the runtime: see --openmp")

struct left {
#define OL_LEFT(name, what) uint64_t name;
	LEFT_LIST
#undef OL_LEFT
};
extern struct left ol_run_left;
extern _Thread_local const void *ol_run_caller __attribute__((tls_model("initial-exec")));
extern bool ol_run_stacks_of_holds;

#define LEFT(what)	((void)ol_add_relaxed(&ol_run_left.what, 1u)) /* a statistic: orders nothing */
/* Every function a program calls says so first; every acquisition is made for that caller. */
#define CALLED()	((void)(ol_run_caller = CALLER))

void ol_run_report_start(const char *output);

/* From now on a report whenever the process gets OVERLOCK_SIGNAL. Takes locks, and makes a thread. */
void ol_run_demand_start(void);

static inline void for_caller(void)
{
	ol_at_site(ol_run_caller);
	if (OL_UNLIKELY(ol_run_stacks_of_holds))
		ol_sites_take_for_hold(ol_run_caller);
}
#define FOR_CALLER()	for_caller()
#else
#define IS_COUNTED	false
#define LEFT(what)	((void)0)
#define CALLED()	((void)0)
#define FOR_CALLER()	((void)0)
#endif

#ifdef OL_CHECKED /* what releases and destroys is told of as well */
#define CALLED_TO_END()	CALLED()
#else
#define CALLED_TO_END()	((void)0)
#endif

#pragma GCC visibility pop
#endif
