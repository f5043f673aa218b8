/* SPDX-License-Identifier: MIT */
#ifndef OL_PRELOAD_H
#define OL_PRELOAD_H
/*
 * The pthread interposer: a lock of locks.def inside every pthread_mutex_t; if asked for, inside
 * rwlocks and spinlocks too, and a barrier inside barriers.
 *
 * A mutex that more than one process, a robust list or a priority protocol has a say in is left to
 * glibc, and so is everything under OVERLOCK_DISABLE=1.
 */
#include "diag/diag.h"
#include "wait.h"

#include <overlock/lock/qrw.h>
#include <overlock/wait/barrier.h>

#include <pthread.h>
#include <time.h>

/*
 * What a pthread_mutex_t holds while it is ours. All zero is a free one of the normal kind; `kind`
 * lies where glibc keeps it, so that static initialisers and pthread_mutex_init() set both.
 *
 * `epoch` says in which process the lock was last acquired: its number, which increases with each fork,
 * and 0 for none. Queues found in another epoch hold waiters that only the parent has. Therefore
 *
 *	a release in another epoch zeroes the lock instead of handing over, and
 *	nobody queues before somebody has acquired the lock in this epoch, so that zeroing it cannot
 *	take a waiter of this process out of the queue.
 */
struct mutex {
	uint64_t lock[2];
	uint32_t kind;
	uint32_t owner; /* recursive, errorcheck: its holder, else 0 */
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
	 * into `ol_run_choices`, 0 while it is undecided, and always if there are no rules.
	 */
	KIND_CHOICE_SHIFT = 16,
	KIND_CHOICE = 0x7fff0000
};
#define KIND_NONE 0x80000000u /* no mutex's */

/*
 * What a pthread_cond_t holds while it is ours; cond.c. One of the words of `glibcs` has the two bits
 * that glibc sets from the attributes, so that a process-shared one, which stays glibc's, is
 * recognised. Which word differs between versions of glibc and is found at the start; we write none.
 */
struct cond {
	uint64_t turn;	/* upper half: how many wait unsignalled; lower: futex, moves by signals */
	uint64_t users; /* upper half: epoch; lower: threads inside a wait, and COND_DESTROY */
	uint32_t glibcs[8];
};
_Static_assert(sizeof(struct cond) == sizeof(pthread_cond_t), "glibc's bits may be in any word");

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
	uint32_t queue_epoch; /* of the waiters in the lock's queue */
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

/* What a pthread_barrier_t holds while it is ours; barrier.c. The mark lies where glibc writes nothing. */
struct barrier {
	ol_barrier_t meet;
	uint32_t threads; /* that meet */
	uint32_t inside;  /* that were let go and still look at it */
	uint32_t unused[4];
	uint32_t mark; /* that it is ours */
};
_Static_assert(sizeof(struct barrier) <= sizeof(pthread_barrier_t), "must fit in place");

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
extern const struct ol_lock_ops *ol_run_chosen;
extern const struct ol_lock_ops *ol_run_chosen_rwlock, *ol_run_chosen_spin; /* null: glibc's */
extern const struct ol_lock_ops ol_ops_spin_yield;			    /* of spin_yield.h */
extern bool ol_run_has_barriers;   /* ours, instead of glibc's */
extern bool ol_run_makes_adaptive; /* of glibc's normal mutexes; then all is left to glibc */
extern uint32_t ol_run_epoch;	   /* changes only in the child of a fork, which has one thread */

/*
 * ol_run_epoch + 1; but 0 in the child of a fork that nobody has announced, by clone() or a system call that
 * runs no handlers: its page is wiped there (MADV_WIPEONFORK).
 */
enum { LARGEST_PAGE = 1 << 16 };
extern union process {
	uint32_t number;
	char page[LARGEST_PAGE];
} ol_run_process;

/* What the handlers of a fork would have done. */
void ol_run_meet_process(void);

/* Before anything of the parent's threads is looked at. */
static inline void know_process(void)
{
	uint32_t number = ol_load_acquire(&ol_run_process.number);

	if (OL_UNLIKELY(!number || number == UINT32_MAX))
		ol_run_meet_process();
}

/*
 * The kind of those that go straight through: normal ones that have the chosen lock. KIND_NONE before
 * the start and when everything is left to glibc.
 */
extern uint32_t ol_run_plain_kind;

/* Starts if need be; the chosen lock, or null if glibc is to do the work. */
const struct ol_lock_ops *ol_run_start(void);

static inline const struct ol_lock_ops *lock_ops(void)
{
	const struct ol_lock_ops *ops =
		ol_load_acquire(&ol_run_chosen); /* with what ol_run_start() wrote */

	return OL_UNLIKELY(!ops) ? ol_run_start() : ops;
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
	int (*barrier_init)(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned);
	int (*barrier_destroy)(pthread_barrier_t *);
	int (*barrier_wait)(pthread_barrier_t *);
	int (*spin_init)(pthread_spinlock_t *, int);
	int (*spin_destroy)(pthread_spinlock_t *);
	int (*spin_lock)(pthread_spinlock_t *);
	int (*spin_trylock)(pthread_spinlock_t *);
	int (*spin_unlock)(pthread_spinlock_t *);
	int (*prctl)(int, ...);
	void *(*dlmopen)(long, const char *, int);
	int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *);
	/* What a cancellation does, and a jump (longjmp) out of a handler past this frame. */
	void (*cleanup_push)(struct _pthread_cleanup_buffer *, void (*)(void *), void *);
	void (*cleanup_pop)(struct _pthread_cleanup_buffer *, int execute);
};
extern struct real ol_run_real;

/* One line on standard error, and the exit code of what could not be started. */
_Noreturn void ol_run_refuse(const char *what, const char *why);

/* At the start only, as later the program may have another file there. */
void ol_run_ignore(const char *variable, const char *value, const char *why);

uint32_t ol_run_self(void); /* this thread's id in the kernel, never 0 */
uint32_t
ol_run_former_self(void); /* what it was in the parent, if this is the thread that forked; else 0 */

/* The built-in lock of that name, ready to lie in a mutex; refuses what cannot. */
const struct ol_lock_ops *ol_run_lock_named(const char *id);

/*
 * mutex.c; errors as POSIX has them. `site` is where the program calls from, by which a mutex that has
 * no lock yet gets one; null: unknown.
 */

void ol_run_mutexes_start(void);
int ol_run_mutex_init(struct mutex *m, const pthread_mutexattr_t *attr, const void *site);
int ol_run_mutex_destroy(struct mutex *m);
int ol_run_mutex_lock(struct mutex *m, const void *site);
int ol_run_mutex_trylock(struct mutex *m, const void *site);
int ol_run_mutex_timedlock(struct mutex *m, clockid_t clock, const struct timespec *until,
			   const void *site);
int ol_run_mutex_unlock(struct mutex *m);

/* Its lock, if it has one already, else the default; null if it is not ours. */
const struct ol_lock_ops *ol_run_mutex_ops(const struct mutex *m);

static inline bool mutex_is_glibc(const struct mutex *m)
{
	return !ol_run_mutex_ops(m);
}

/* gate.c */

bool ol_run_gate_wait(struct mutex *m, const struct ol_lock_ops *ops, ol_ticks_t until);
bool ol_run_gate_has_sleepers(const struct mutex *m);

/* The holder's release of a mutex whose gate is not zero; returns 0. */
int ol_run_gate_release(struct mutex *m, const struct ol_lock_ops *ops);

/* What a lock that is passed from thread to thread does not see of it; the lock's own memory. */
#ifdef OL_COUNTED
void ol_run_count_release(const void *lock, const struct ol_lock_ops *ops);
#else
#define ol_run_count_release(lock, ops) ((void)(lock), (void)(ops))
#endif

/* sleep.c */

/* Around a wait of the calling thread, that may sleep then; `until` is for those that may give up. */
void ol_run_wait_begin(struct wait *w, struct mutex *m, const struct ol_lock_ops *ops,
		       ol_ticks_t until);
void ol_run_wait_end(struct wait *w);

/*
 * A real-time thread waits outside of the lock's queue, and gets the lock before those of lower priority, as from
 * the kernel's futex. `until` comes first: false.
 */
bool ol_run_is_realtime(void);
bool ol_run_wait_realtime(struct mutex *m, const struct ol_lock_ops *ops, ol_ticks_t until);

/* The holder's release: true if such a thread holds the lock now. Then the mutex may be gone. */
bool ol_run_hand_to_realtime(struct mutex *m, const struct ol_lock_ops *ops);

/*
 * Around what a handler must find whole, since it may never return (longjmp()): no signals but those of
 * faults. Returns those that were blocked before, as the kernel has them.
 */
uint64_t ol_run_block_signals(void);
void ol_run_restore_signals(uint64_t blocked);

/* Its waiters can leave without a trace. One that is handed from waiter to waiter is never free to a thread that polls it. */
static inline bool ol_run_can_give_up(const struct ol_lock_ops *ops)
{
	return ops->timedlock && !(ops->traits & OL_POLLS);
}

/* Unlocks, and wakes a sleeper. */
void ol_run_sleepers_release(struct mutex *m, const struct ol_lock_ops *ops);
void ol_run_sleepers_start(void);
void ol_run_sleepers_renew(void); /* in the child of a fork */

/* note.c */

/* Of a waiter that has nothing to report yet: a lock has made it sleep. */
void ol_run_note_sleep(const struct ol_lock_ops *ops);
void ol_run_note_tell(
	void); /* after a release: says what there is to say, at once or another time */

/* terminal.c */

/* The controlling terminal; -1: there is none. Writes to it do not wait. */
int ol_run_terminal_open(void);

/*
 * How many of the letters are written without waiting for anything. Of a terminal that is paused, or
 * that stops who writes to it from the background (`stty tostop`), none. No cancellation point.
 */
size_t ol_run_write_at_once(int fd, const char *text, size_t size);

/* outside.c */

/* The same lock, to be kept in the 8 bytes of a pointer; refuses what is larger than sense. */
const struct ol_lock_ops *ol_run_outside_ops(const struct ol_lock_ops *ops);

/*
 * The lock outside of which that is true, for this mutex or an earlier one there; null if there is none.
 * The mutex's memory is not looked at.
 */
const void *ol_run_outside_find(const struct mutex *m, bool (*is)(const void *lock));

/* All zero, on a cache line of its own, for good; null if there is no memory. */
void *ol_run_find_room(size_t bytes);

/* Where the mutex's lock itself lies: in it, or where it points to. */
void *ol_run_outside_at(struct mutex *m, const struct ol_lock_ops *ops);

/* cond.c */

void ol_run_conds_start(void);
int ol_run_cond_init(struct cond *c, const pthread_condattr_t *attr);
int ol_run_cond_destroy(struct cond *c);
int ol_run_cond_wait(struct cond *c, struct mutex *m);
int ol_run_cond_timedwait(struct cond *c, struct mutex *m, const struct timespec *until);
int ol_run_cond_clockwait(struct cond *c, struct mutex *m, clockid_t clock,
			  const struct timespec *until);
int ol_run_cond_signal(struct cond *c);
int ol_run_cond_broadcast(struct cond *c);

/* rwlock.c; errors as glibc has them */

void ol_run_rwlocks_start(void);
int ol_run_rwlock_init(struct rwlock *r, const pthread_rwlockattr_t *attr);
int ol_run_rwlock_destroy(struct rwlock *r);
int ol_run_rwlock_read(struct rwlock *r);
int ol_run_rwlock_tryread(struct rwlock *r);
int ol_run_rwlock_timedread(struct rwlock *r, clockid_t clock, const struct timespec *until);
int ol_run_rwlock_write(struct rwlock *r);
int ol_run_rwlock_trywrite(struct rwlock *r);
int ol_run_rwlock_timedwrite(struct rwlock *r, clockid_t clock, const struct timespec *until);
int ol_run_rwlock_unlock(struct rwlock *r);

/* defer.c: the same lock, or that one whose holders ask not to be preempted */
const struct ol_lock_ops *ol_run_deferring(const struct ol_lock_ops *ops);

/* barrier.c; errors as glibc has them */

void ol_run_barriers_start(void);
int ol_run_barrier_init(struct barrier *b, const pthread_barrierattr_t *attr, unsigned n);
int ol_run_barrier_destroy(struct barrier *b);
int ol_run_barrier_wait(struct barrier *b);

/* spin.c */

int ol_run_spin_init(pthread_spinlock_t *l, int shared);
int ol_run_spin_destroy(pthread_spinlock_t *l);
int ol_run_spin_lock(pthread_spinlock_t *l);
int ol_run_spin_trylock(pthread_spinlock_t *l);
int ol_run_spin_unlock(pthread_spinlock_t *l);

/* clock.c */

bool ol_run_clock_is_known(clockid_t clock);
bool ol_run_time_is_valid(const struct timespec *t);
uint64_t ol_run_ns_left(clockid_t clock, const struct timespec *until); /* 0: it has come */
uint64_t ol_run_kernels_ns_left(clockid_t clock, const struct timespec *until);
struct timespec ol_run_kernels_time_in(uint64_t ns); /* on CLOCK_MONOTONIC */

/* The program's deadlines for condition variables are not on the kernel's clock. */
extern bool ol_run_has_its_clock;
void ol_run_clock_start(void);

/* For threads that wait for something nobody will wake them for: ever longer naps, to 1 ms. */
void ol_run_nap(uint64_t *step_ns, ol_ticks_t until);

#pragma GCC visibility pop

/* glibc exports functions as __NAME too, and old libraries call them. */
#if __has_attribute(copy)
#define LIKE(name) , copy(name)
#else
#define LIKE(name)
#endif
#define ALIAS(name) extern __typeof__(name) __##name __attribute__((alias(#name) LIKE(name)))
#endif
