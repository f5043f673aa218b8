/* SPDX-License-Identifier: MIT */
#ifndef OL_PRELOAD_H
#define OL_PRELOAD_H
/*
 * The pthread interposer: a lock of locks.def inside every pthread_mutex_t; if asked for, inside
 * rwlocks and spinlocks too.
 *
 * A mutex that more than one process, a robust list or a priority protocol has a say in is left to
 * glibc, and so is everything under OVERLOCK_DISABLE=1.
 */
#include "wait.h"

#include <overlock/lock/qrw.h>

#include <pthread.h>
#include <time.h>

/*
 * What a pthread_mutex_t holds while it is ours. All zero is a free one of the normal kind; `kind`
 * lies where glibc keeps it, so that static initialisers and pthread_mutex_init() set both.
 *
 * `epoch` says in which process the lock was last acquired: an increasing number of forks, 0 in the
 * first. Queues found in another epoch hold waiters that only the parent has. Therefore
 *
 *	a release in another epoch zeroes the lock instead of handing over, and
 *	nobody queues before somebody has acquired the lock in this epoch, so that zeroing it cannot
 *	rob a waiter of this process of its place.
 */
struct mutex {
	uint64_t lock[2];
	uint32_t kind;
	uint32_t owner; /* recursive, errorcheck: who holds it, else 0 */
	uint64_t gate;	/* gate.c: callers with a deadline; sleep.c: SLEEPERS */
	uint32_t depth; /* recursive: acquisitions beyond the first */
	uint32_t epoch;
};
_Static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t), "must fit in place");
_Static_assert(_Alignof(struct mutex) <= _Alignof(pthread_mutex_t), "must fit in place");
_Static_assert(offsetof(struct mutex, kind) == offsetof(pthread_mutex_t, __data.__kind),
	       "static initialisers set it");

enum {
	KIND_TYPE = 3,			       /* normal, recursive, errorcheck, adaptive */
	KIND_ROBUST = 0x10,		       /* these three as in glibc's <pthreadP.h> */
	KIND_PRIORITY = 0x20 | 0x40,	       /* inherit, protect */
	KIND_OURS = KIND_TYPE | 0x100 | 0x200, /* its marks for and against lock elision */
	/*
	 * Which lock, as choice.c has decided, in bits that glibc neither sets nor looks at: an index
	 * into `choices`, 0 while it is undecided, and always if there are no rules.
	 */
	KIND_CHOICE_SHIFT = 16,
	KIND_CHOICE = 0x7fff0000
};
#define KIND_NONE 0x80000000u /* no mutex's */

/*
 * What a pthread_cond_t holds while it is ours; cond.c. `flags` lies where glibc keeps the same two
 * bits, so that a process-shared one, which stays glibc's, is recognised.
 */
struct cond {
	uint64_t turn;	/* upper half: how many wait unsignalled; lower: futex, moves by signals */
	uint64_t users; /* upper half: epoch; lower: threads inside a wait, and COND_DESTROY */
	uint32_t none[5];
	uint32_t flags;
	uint32_t none_either[2];
};
_Static_assert(sizeof(struct cond) <= sizeof(pthread_cond_t), "must fit in place");
_Static_assert(offsetof(struct cond, flags) == offsetof(pthread_cond_t, __data.__wrefs),
	       "glibc marks process-shared ones there");

enum { COND_SHARED = 1, COND_MONOTONIC = 2 };

/*
 * What a pthread_rwlock_t holds while it is ours; rwlock.c. `shared` and `flags` lie where glibc keeps
 * them, so that process-shared ones, which stay glibc's, and kinds are recognised, static initialisers
 * included; the lock lies where glibc keeps nothing, so that one that glibc has used is free to us.
 */
struct rwlock {
	uint32_t glibcs[4];
	ol_qrw_t lock;
	uint32_t owner; /* who writes, else 0 */
	uint32_t shared;
	uint32_t elision[2];
	uint32_t line_epoch;  /* as whose waiters are in the lock's line */
	uint32_t owner_epoch; /* as `owner` is to be read */
	uint32_t flags;	      /* PTHREAD_RWLOCK_PREFER_... */
};
_Static_assert(sizeof(struct rwlock) <= sizeof(pthread_rwlock_t), "must fit in place");
_Static_assert(offsetof(struct rwlock, lock) == offsetof(pthread_rwlock_t, __data.__pad3),
	       "glibc writes nothing there");
_Static_assert(offsetof(struct rwlock, shared) == offsetof(pthread_rwlock_t, __data.__shared),
	       "glibc marks process-shared ones there");
_Static_assert(offsetof(struct rwlock, flags) == offsetof(pthread_rwlock_t, __data.__flags),
	       "static initialisers set it");

/* The lower half, which is a futex and cheap to look at. */
typedef uint32_t __attribute__((may_alias)) half_t;

static inline half_t *low_half(uint64_t *word)
{
	return (half_t *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* All but what the program calls, which api.c exports. */
#pragma GCC visibility push(hidden)

/* start.c */

/* Null before the start and when everything is left to glibc. */
extern const struct ol_lock_ops *chosen;
extern const struct ol_lock_ops *chosen_rwlock, *chosen_spin; /* null: glibc's */
extern bool makes_adaptive; /* of glibc's normal mutexes; then all is left to glibc */
extern uint32_t epoch;	    /* changes only in the child of a fork, which has one thread */

/*
 * The kind of those that go straight through: normal ones that have the chosen lock. KIND_NONE before
 * the start and when everything is left to glibc.
 */
extern uint32_t plain_kind;

/* Starts if need be; the chosen lock, or null if glibc is to do the work. */
const struct ol_lock_ops *start(void);

static inline const struct ol_lock_ops *lock_ops(void)
{
	const struct ol_lock_ops *ops = ol_load_acquire(&chosen); /* with what start() wrote */

	return OL_UNLIKELY(!ops) ? start() : ops;
}

struct real {
	int (*mutex_init)(pthread_mutex_t *, const pthread_mutexattr_t *);
	int (*mutex_destroy)(pthread_mutex_t *);
	int (*mutex_lock)(pthread_mutex_t *);
	int (*mutex_trylock)(pthread_mutex_t *);
	int (*mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
	int (*mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
	int (*mutex_unlock)(pthread_mutex_t *);
	int (*cond_init)(pthread_cond_t *, const pthread_condattr_t *);
	int (*cond_destroy)(pthread_cond_t *);
	int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
	int (*cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	int (*cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
			      const struct timespec *);
	int (*cond_signal)(pthread_cond_t *);
	int (*cond_broadcast)(pthread_cond_t *);
	int (*rwlock_init)(pthread_rwlock_t *, const pthread_rwlockattr_t *);
	int (*rwlock_destroy)(pthread_rwlock_t *);
	int (*rwlock_rdlock)(pthread_rwlock_t *);
	int (*rwlock_wrlock)(pthread_rwlock_t *);
	int (*rwlock_tryrdlock)(pthread_rwlock_t *);
	int (*rwlock_trywrlock)(pthread_rwlock_t *);
	int (*rwlock_timedrdlock)(pthread_rwlock_t *, const struct timespec *);
	int (*rwlock_timedwrlock)(pthread_rwlock_t *, const struct timespec *);
	int (*rwlock_clockrdlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*rwlock_clockwrlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*rwlock_unlock)(pthread_rwlock_t *);
	int (*spin_init)(pthread_spinlock_t *, int);
	int (*spin_destroy)(pthread_spinlock_t *);
	int (*spin_lock)(pthread_spinlock_t *);
	int (*spin_trylock)(pthread_spinlock_t *);
	int (*spin_unlock)(pthread_spinlock_t *);
	int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *);
};
extern struct real real;

/* One line on standard error, and the exit code of what could not be started. */
_Noreturn void refuse(const char *what, const char *why);

uint32_t self(void); /* this thread's id in the kernel, never 0 */
uint32_t
former_self(void); /* what it was in the parent, if this is the thread that forked; else 0 */

/* The built-in lock of that name, ready to lie in a mutex; refuses what cannot. */
const struct ol_lock_ops *lock_named(const char *id);

/* choice.c */

/*
 * By the number in a mutex's kind; null where it is glibc's mutex, and where rules have yet to decide.
 * Constant after the start.
 */
extern const struct ol_lock_ops **choices;

extern bool has_rules; /* else nothing is decided */

/* With that lock where no rule says another; the kind of the mutexes that have it. */
uint32_t choices_start(const struct ol_lock_ops *preset);

/* Sees to it that the mutex has its lock, for good; its kind from then on. */
uint32_t decide(struct mutex *m, const void *site);

/* Calls `each` for every rule, in order, until it answers false; then it does too. */
bool rules_each(bool (*each)(const char *pattern, const char *lock, uint64_t mutexes, void *arg),
		void *arg);

/*
 * mutex.c; errors as POSIX has them. `site` is where the program calls from, by which a mutex that has
 * no lock yet gets one; null: unknown.
 */

int mutex_init(struct mutex *m, const pthread_mutexattr_t *attr, const void *site);
int mutex_destroy(struct mutex *m);
int mutex_lock(struct mutex *m, const void *site);
int mutex_trylock(struct mutex *m, const void *site);
int mutex_timedlock(struct mutex *m, clockid_t clock, const struct timespec *until,
		    const void *site);
int mutex_unlock(struct mutex *m);

/* Its lock, if it has one already, else the default; null if it is not ours. */
const struct ol_lock_ops *mutex_ops(const struct mutex *m);

static inline bool mutex_is_foreign(const struct mutex *m)
{
	return !mutex_ops(m);
}

/* gate.c */

bool gate_wait(struct mutex *m, const struct ol_lock_ops *ops, ol_ticks_t until);
bool gate_has_sleepers(const struct mutex *m);

/* The holder's release of a mutex whose gate is not zero; returns 0. */
int gate_release(struct mutex *m, const struct ol_lock_ops *ops);

/* sleep.c */

/* Around a wait of the calling thread, that may sleep then; `until` is for those that may give up. */
void wait_begin(struct wait *w, struct mutex *m, const struct ol_lock_ops *ops, ol_ticks_t until);
void wait_end(struct wait *w);

/* Unlocks, and wakes a sleeper. */
void sleepers_release(struct mutex *m, const struct ol_lock_ops *ops);
void sleepers_start(void);
void sleepers_renew(void); /* in the child of a fork */

/* outside.c */

/* The same lock, to be kept in the 8 bytes of a pointer; refuses what is larger than sense. */
const struct ol_lock_ops *outside_ops(const struct ol_lock_ops *ops);

/*
 * The lock outside of which that is true, for this mutex or an earlier one there; null if there is none.
 * The mutex's memory is not looked at.
 */
const void *outside_find(const struct mutex *m, bool (*is)(const void *lock));

/* All zero, on a line of its own, for good; null if there is no memory, or refuses. */
void *find_room(size_t bytes);
void *take_room(size_t bytes);

/* Where the mutex's lock itself lies: in it, or where it points to. */
void *outside_at(struct mutex *m, const struct ol_lock_ops *ops);

/* cond.c */

int cond_init(struct cond *c, const pthread_condattr_t *attr);
int cond_destroy(struct cond *c);
int cond_wait(struct cond *c, struct mutex *m);
int cond_timedwait(struct cond *c, struct mutex *m, const struct timespec *until);
int cond_clockwait(struct cond *c, struct mutex *m, clockid_t clock, const struct timespec *until);
int cond_signal(struct cond *c);
int cond_broadcast(struct cond *c);

/* rwlock.c; errors as glibc has them */

int rwlock_init(struct rwlock *r, const pthread_rwlockattr_t *attr);
int rwlock_destroy(struct rwlock *r);
int rwlock_read(struct rwlock *r);
int rwlock_tryread(struct rwlock *r);
int rwlock_timedread(struct rwlock *r, clockid_t clock, const struct timespec *until);
int rwlock_write(struct rwlock *r);
int rwlock_trywrite(struct rwlock *r);
int rwlock_timedwrite(struct rwlock *r, clockid_t clock, const struct timespec *until);
int rwlock_unlock(struct rwlock *r);

/* spin.c */

int spin_init(pthread_spinlock_t *l, int shared);
int spin_destroy(pthread_spinlock_t *l);
int spin_lock(pthread_spinlock_t *l);
int spin_trylock(pthread_spinlock_t *l);
int spin_unlock(pthread_spinlock_t *l);

/* clock.c */

bool clock_is_known(clockid_t clock);
bool time_is_valid(const struct timespec *t);
uint64_t ns_left(clockid_t clock, const struct timespec *until); /* 0: it has come */

/* For threads that wait for something nobody will wake them for: ever longer naps, to 1 ms. */
void nap(uint64_t *step_ns, ol_ticks_t until);

/* report.c: the counted library only. */

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
	OL_LEFT(shared_spinlock, "process-shared spinlocks: every process that uses one must run under --spinlock")

struct left {
#define OL_LEFT(name, what) uint64_t name;
	LEFT_LIST
#undef OL_LEFT
};
extern struct left left;
extern _Thread_local const void *caller __attribute__((tls_model("initial-exec")));

#define LEFT(what)	((void)ol_add_relaxed(&left.what, 1u)) /* a statistic: orders nothing */
/* Every function a program calls says so first; every acquisition is made for that caller. */
#define CALLED()	((void)(caller = CALLER))
void report_start(const char *output);
bool report_is_wanted(void);			  /* of this process */
void report_on_demand(void);			  /* by nobody who holds a lock of the program's */
void report_found(const char *text, size_t size); /* check.h: at once */

/* demand.c */

/* From now on a report whenever the process gets OVERLOCK_SIGNAL. Takes locks, and makes a thread. */
void demand_start(void);
int demand_number(void);    /* of the signal; 0: none */
bool demand_is_taken(void); /* the program has a handler of its own for it now */

/* stacks.c */

extern bool stacks_of_holds;

/* With OVERLOCK_STACKS, `wait` or `hold`, from now on. May take locks. */
void stacks_start(void);

/* Once, before unwind(): loads what it needs. May take locks. */
void unwind_start(void);

/*
 * This thread's stack, as addresses to return to: from the call that returns to `from` on, or all there
 * is if that is not on it. Cut: there are more than `most`, of which it is the innermost.
 */
uint32_t unwind(void **stack, uint32_t most, const void *from, bool *is_cut);

/* All stacks as JSON, an object; nothing if none are taken. */
struct text;
void stacks_write(struct text *t);

static inline void for_caller(void)
{
	ol_at_site(caller);
	if (OL_UNLIKELY(stacks_of_holds))
		ol_sites_take_for_hold(caller);
}
#define FOR_CALLER()	for_caller()
#else
#define IS_COUNTED	false
#define LEFT(what)	((void)0)
#define CALLED()	((void)0)
#define FOR_CALLER()	((void)0)
#endif

#pragma GCC visibility pop

/* glibc exports functions as __NAME too, and old libraries call them. */
#if __has_attribute(copy)
#define LIKE(name) , copy(name)
#else
#define LIKE(name)
#endif
#define ALIAS(name) extern __typeof__(name) __##name __attribute__((alias(#name) LIKE(name)))

#ifdef OL_CHECKED /* what releases and destroys is told of as well */
#define CALLED_TO_END()	CALLED()
#else
#define CALLED_TO_END()	((void)0)
#endif
#endif
