/* SPDX-License-Identifier: MIT */
/*
 * Condition variables.
 *
 * A waiter notes where the `turn` stands while it still holds the mutex, then sleeps on it; signal
 * and broadcast move it and wake sleepers. A waiter that noted an older turn cannot fall asleep any
 * more, so no wake-up is lost between noting and sleeping. Waking more than one is allowed.
 *
 *	 63		32 31		  0
 *	+-----------------+----------------+
 *	|  unsignalled    |     turn       |
 *	+-----------------+----------------+
 *
 * `unsignalled` spares signals a system call when nobody waits. It may be too high, which costs such
 * a call, but never too low: a signal takes one off and wakes at least one, and a waiter takes itself
 * off only if it was not woken and no signal has come since it noted the turn.
 *
 * Orders: the mutex orders a waiter's note before whatever a signaller does that acquired the mutex
 * after it, and nothing else is promised; hence all is relaxed. The kernel compares the futex, and
 * looks for sleepers, after a full fence.
 *
 * A waiter that was woken by a broadcast may be about to leave while the program, rightly, destroys
 * the condition variable: destroy waits until `users` have left.
 */
#include "interposer.h"

#include <errno.h>
#include <linux/futex.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ONE_WAITER   ((uint64_t)1 << 32)
#define COND_DESTROY (1u << 31)
#define NAP_NS	     50000 /* as long as the kernel's timer slack */

static pthread_cond_t *glibc(struct cond *c)
{
	return (pthread_cond_t *)(void *)c;
}

/* The word of `glibcs` with glibc's bits: 5 of Debian 12's glibc, 3 of Debian 13's. */
static uint32_t flags_at;

static uint32_t flags(const struct cond *c)
{
	return c->glibcs[flags_at];
}

static bool cond_is_glibc(const struct cond *c)
{
	return !lock_ops() || (flags(c) & COND_SHARED);
}

/* Does glibc keep an attribute's bits in that word, and all others zero? */
static bool keeps(uint32_t word, uint32_t bits)
{
	struct cond made, expected = { 0 };
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setpshared(&attr, bits & COND_SHARED ? PTHREAD_PROCESS_SHARED
							      : PTHREAD_PROCESS_PRIVATE);
	pthread_condattr_setclock(&attr, bits & COND_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME);
	expected.glibcs[word] = bits;
	ol_run_real.cond_init(glibc(&made), &attr);
	return !memcmp(&made, &expected, sizeof(made));
}

void ol_run_conds_start(void)
{
	const uint32_t words = sizeof(((struct cond *)0)->glibcs) / sizeof(uint32_t);

	while (!keeps(flags_at, COND_SHARED) || !keeps(flags_at, COND_MONOTONIC))
		if (++flags_at == words)
			ol_run_refuse("pthread_cond_init",
				      "this glibc keeps a condition variable's "
				      "attributes in an unknown way; run "
				      "without overlock");
}

/* Futexes. */

static int futex_wait(half_t *word, uint32_t seen, clockid_t clock, const struct timespec *until)
{
	int op = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, saved = errno, error;

	if (clock == CLOCK_REALTIME)
		op |= FUTEX_CLOCK_REALTIME;
	error = syscall(SYS_futex, word, op, seen, until, 0, FUTEX_BITSET_MATCH_ANY) ? errno : 0;
	if (error && error != EAGAIN && error != EINTR && error != ETIMEDOUT) {
		/* A filter forbids futexes: we wake unasked after a nap, and look at the deadline. */
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = NAP_NS }, 0);
		error = until && !ol_run_kernels_ns_left(clock, until) ? ETIMEDOUT : EAGAIN;
	}
	errno = saved;
	return error;
}

/* The address only: the memory may be gone. */
static void futex_wake(half_t *word, int n)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n);
	errno = saved;
}

/* Users: the number of threads inside a wait, in this epoch. */

static bool users_change(struct cond *c, uint32_t by, uint32_t *left)
{
	uint64_t w = ol_load_relaxed(&c->users), from = w;

	if (w >> 32 != ol_run_epoch) /* the parent's threads */
		w = (uint64_t)ol_run_epoch << 32;
	*left = (uint32_t)w + by;
	/* Release: the destruction of the condition variable comes after all our accesses. */
	return ol_cas_release(&c->users, from, (uint64_t)ol_run_epoch << 32 | *left);
}

static void enter(struct cond *c)
{
	uint32_t left;

	know_process();
	while (!users_change(c, 1, &left))
		;
}

static void leave(struct cond *c)
{
	uint32_t left;

	while (!users_change(c, -1u, &left))
		;
	if (left == COND_DESTROY)
		futex_wake(low_half(&c->users), 1);
}

/* Notes the turn; from now on signals are for us too. */
static uint32_t note_turn(struct cond *c)
{
	return (uint32_t)ol_add_relaxed(&c->turn, ONE_WAITER);
}

/* We leave without having been woken. */
static void take_back(struct cond *c, uint32_t noted)
{
	uint64_t w;

	do {
		w = ol_load_relaxed(&c->turn);
		if ((uint32_t)w != noted || w < ONE_WAITER)
			return;
	} while (!ol_cas_relaxed(&c->turn, w, w - ONE_WAITER));
}

static int wake(struct cond *c, bool all)
{
	uint64_t w, next;

	do {
		w = ol_load_relaxed(&c->turn);
		if (w < ONE_WAITER)
			return 0;
		next = (all ? 0 : w - ONE_WAITER) & ~(uint64_t)UINT32_MAX;
		next |= (uint32_t)w + 1;
	} while (!ol_cas_relaxed(&c->turn, w, next));
	futex_wake(low_half(&c->turn), all ? INT_MAX : 1);
	return 0;
}

/*
 * We were woken, but no signal has come since we noted the turn: the wake-up was for a thread that
 * has slept for longer. The kernel prefers real-time threads, whenever they came.
 */
static void pass_on(struct cond *c, uint32_t noted)
{
	if ((uint32_t)ol_load_relaxed(&c->turn) == noted)
		futex_wake(low_half(&c->turn), 1);
}

/*
 * A sleep in which the thread may be cancelled, or a handler jump out of it; then it leaves as if it had never come,
 * and has the mutex: from glibc's wait, a jump does what a cancellation does.
 */
struct sleep {
	struct cond *cond; /* null: on a process-shared one, see below */
	struct mutex *mutex;
	half_t *word;
	uint32_t seen;
	clockid_t clock;
	const struct timespec *until;
	int type; /* of cancellation, before */
};

static void left(void *arg)
{
	struct sleep *s = arg;

	pthread_setcanceltype(s->type, 0);
	if (s->cond) {
		take_back(s->cond, s->seen);
		wake(s->cond, false); /* the signal we slept through may be another's */
		leave(s->cond);
	}
	ol_run_mutex_lock(s->mutex, 0);
}

/* The raw call is no cancellation point, so while in it we may be cancelled at any instruction. */
static int sleep_cancellable(struct sleep *s)
{
	struct _pthread_cleanup_buffer cleanup;
	int error;

	ol_leave();
	ol_run_real.cleanup_push(&cleanup, left, s);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &s->type);
	do {
		error = futex_wait(s->word, s->seen, s->clock, s->until);
	} while (error == EINTR);
	pthread_setcanceltype(s->type, 0);
	ol_run_real.cleanup_pop(&cleanup, 0);
	return error;
}

static int wait_here(struct cond *c, struct mutex *m, clockid_t clock, const struct timespec *until)
{
	struct sleep s = { c, m, low_half(&c->turn), 0, clock, until, PTHREAD_CANCEL_DEFERRED };
	int error, locked;

	enter(c);
	s.seen = note_turn(c);
	error = ol_run_mutex_unlock(m);
	if (error) {
		take_back(c, s.seen);
		leave(c);
		return error;
	}
	if (until && until->tv_sec < 0)
		error = ETIMEDOUT; /* the kernel calls it invalid */
	else
		error = sleep_cancellable(&s);
	if (!error)
		pass_on(c, s.seen);
	take_back(c, s.seen);
	leave(c);
	locked = ol_run_mutex_lock(m, 0);
	return locked ? locked : error == ETIMEDOUT ? ETIMEDOUT : 0;
}

/*
 * A process-shared condition variable is glibc's, and a mutex of ours is not something glibc can
 * release in the midst of its wait. Signals from this process move a turn of our own, one of a few
 * by address; those from other processes are answered by waking up unasked, which a wait may do,
 * every few milliseconds.
 */
static struct {
	uint64_t turn;
} OL_OWN_LINE mixed[64];

static uint64_t *mixed_turn(const struct cond *c)
{
	return &mixed[(uintptr_t)c / sizeof(pthread_cond_t) % 64].turn;
}

static void mixed_wake(const struct cond *c)
{
	uint64_t *turn = mixed_turn(c);

	if (ol_load_relaxed(turn) < ONE_WAITER)
		return;
	ol_add_relaxed((half_t *)low_half(turn), 1u);
	futex_wake(low_half(turn), INT_MAX);
}

static struct timespec soon(clockid_t clock, const struct timespec *until)
{
	const uint64_t look_every_ns = 5000000;
	uint64_t ns = until ? ol_run_kernels_ns_left(clock, until) : UINT64_MAX;

	return ol_run_kernels_time_in(ns < look_every_ns ? ns : look_every_ns);
}

static int wait_mixed(struct cond *c, struct mutex *m, clockid_t clock,
		      const struct timespec *until)
{
	uint64_t *turn = mixed_turn(c);
	struct timespec t = soon(clock, until);
	struct sleep s = { 0, m, low_half(turn), 0, CLOCK_MONOTONIC, &t, PTHREAD_CANCEL_DEFERRED };
	int error, locked;

	LEFT(mixed_wait);
	s.seen = (uint32_t)ol_add_relaxed(turn, ONE_WAITER);
	error = ol_run_mutex_unlock(m);
	if (!error)
		(void)sleep_cancellable(&s);
	ol_add_relaxed(turn, -ONE_WAITER);
	if (error)
		return error;
	locked = ol_run_mutex_lock(m, 0);
	return locked ? locked : until && !ol_run_kernels_ns_left(clock, until) ? ETIMEDOUT : 0;
}

static int wait_until(struct cond *c, struct mutex *m, clockid_t clock,
		      const struct timespec *until)
{
	struct timespec kernels;

	if (until && !ol_run_time_is_valid(until))
		return EINVAL;
	if (until && ol_run_has_its_clock) {
		kernels = ol_run_kernels_time_in(ol_run_ns_left(clock, until));
		clock = CLOCK_MONOTONIC;
		until = &kernels;
	}
	return flags(c) & COND_SHARED ? wait_mixed(c, m, clock, until)
				      : wait_here(c, m, clock, until);
}

/* Both are glibc's: process-shared, or everything is. */
static bool is_left_to_glibc(const struct cond *c, const struct mutex *m)
{
	if (!cond_is_glibc(c) || !mutex_is_glibc(m))
		return false;
	LEFT(shared_condition);
	return true;
}

int ol_run_cond_wait(struct cond *c, struct mutex *m)
{
	if (is_left_to_glibc(c, m))
		return ol_run_real.cond_wait(glibc(c), (pthread_mutex_t *)(void *)m);
	return wait_until(c, m, CLOCK_MONOTONIC, 0);
}

int ol_run_cond_timedwait(struct cond *c, struct mutex *m, const struct timespec *until)
{
	if (is_left_to_glibc(c, m))
		return ol_run_real.cond_timedwait(glibc(c), (pthread_mutex_t *)(void *)m, until);
	return wait_until(c, m, flags(c) & COND_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME,
			  until);
}

int ol_run_cond_clockwait(struct cond *c, struct mutex *m, clockid_t clock,
			  const struct timespec *until)
{
	if (!ol_run_clock_is_known(clock))
		return EINVAL;
	if (is_left_to_glibc(c, m))
		return ol_run_real.cond_clockwait(glibc(c), (pthread_mutex_t *)(void *)m, clock,
						  until);
	return wait_until(c, m, clock, until);
}

int ol_run_cond_signal(struct cond *c)
{
	if (!cond_is_glibc(c))
		return wake(c, false);
	mixed_wake(c);
	return ol_run_real.cond_signal(glibc(c));
}

int ol_run_cond_broadcast(struct cond *c)
{
	if (!cond_is_glibc(c))
		return wake(c, true);
	mixed_wake(c);
	return ol_run_real.cond_broadcast(glibc(c));
}

/* glibc reads the attributes, and leaves all zero but for the flags. */
int ol_run_cond_init(struct cond *c, const pthread_condattr_t *attr)
{
	if (!attr && lock_ops()) {
		memset(c, 0, sizeof(pthread_cond_t));
		return 0;
	}
	lock_ops(); /* for `ol_run_real` */
	return ol_run_real.cond_init(glibc(c), attr);
}

int ol_run_cond_destroy(struct cond *c)
{
	uint32_t left;

	if (cond_is_glibc(c))
		return ol_run_real.cond_destroy(glibc(c));
	while (!users_change(c, COND_DESTROY, &left))
		;
	/* Acquire: after the last user's last access. */
	while ((left = ol_load_acquire(low_half(&c->users))) != COND_DESTROY)
		(void)futex_wait(low_half(&c->users), left, CLOCK_MONOTONIC, 0);
	ol_store_relaxed(&c->users, (uint64_t)ol_run_epoch << 32);
	return 0;
}
