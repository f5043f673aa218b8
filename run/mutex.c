/* SPDX-License-Identifier: MIT */
/* Mutexes of every kind, over the lock that was chosen for them. */
#include "interposer.h"

#include <errno.h>
#include <string.h>

static pthread_mutex_t *glibc(struct mutex *m)
{
	return (pthread_mutex_t *)(void *)m;
}

/* Relaxed: it is changed while others look, and it orders nothing. */
static inline uint32_t kind_of(const struct mutex *m)
{
	return ol_load_relaxed(&m->kind);
}

/*
 * Left to glibc; under `pthread_adaptive` a normal one becomes adaptive by its first use. Both kinds
 * do the same to the word that is the lock, so that one may acquire as the old and another as the new;
 * relaxed, as it orders nothing.
 */
static pthread_mutex_t *left_to_glibc(struct mutex *m)
{
	if (ol_run_makes_adaptive && kind_of(m) == PTHREAD_MUTEX_TIMED_NP)
		ol_cas_relaxed(&m->kind, (uint32_t)PTHREAD_MUTEX_TIMED_NP,
			       (uint32_t)PTHREAD_MUTEX_ADAPTIVE_NP);
	return glibc(m);
}

static bool may_be_ours(const struct mutex *m)
{
	return !(kind_of(m) & ~(uint32_t)(KIND_OURS | KIND_CHOICE)) && lock_ops();
}

/* The lock of a mutex, if it has one already, else the default; null: it is glibc's. */
const struct ol_lock_ops *ol_run_mutex_ops(const struct mutex *m)
{
	uint32_t choice = kind_of(m) >> KIND_CHOICE_SHIFT;

	if (!may_be_ours(m))
		return 0;
	return choice || !ol_run_has_rules ? ol_run_choices[choice] : ol_run_chosen;
}

/* The same for one that is about to be used from there: now it gets one. */
static inline const struct ol_lock_ops *ops_for(struct mutex *m, const void *site)
{
	if (!may_be_ours(m))
		return 0;
	if (OL_UNLIKELY(ol_run_has_rules && !(kind_of(m) & KIND_CHOICE)))
		ol_run_decide(m, site);
	return ol_run_choices[kind_of(m) >> KIND_CHOICE_SHIFT];
}

/* glibc reads the attributes, and programs set the kind of static ones: ours must lie where theirs does. */
void ol_run_mutexes_start(void)
{
	const union {
		struct mutex mutex;
		unsigned char bytes[sizeof(struct mutex)];
	} expected = { .mutex = { .kind = PTHREAD_MUTEX_RECURSIVE_NP } };
	union {
		pthread_mutex_t mutex;
		unsigned char bytes[sizeof(pthread_mutex_t)];
	} made;
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	ol_run_real.mutex_init(&made.mutex, &attr);
	if (memcmp(made.bytes, expected.bytes, sizeof(expected)) != 0 || !ol_run_self())
		ol_run_refuse("pthread_mutex_init",
			      "this glibc keeps a mutex's kind or owner in an "
			      "unknown way; run without overlock");
}

static void count_glibc(const struct mutex *m)
{
	if (kind_of(m) & KIND_ROBUST)
		LEFT(robust_mutex);
	else if (kind_of(m) & KIND_PRIORITY)
		LEFT(priority_mutex);
	else if (may_be_ours(m))
		LEFT(mutex_by_rule);
	else
		LEFT(shared_mutex);
}

/* As far as is known: in a child whose fork was not noticed yet, no acquired mutex really is. */
static inline bool seems_of_this_epoch(const struct mutex *m)
{
	return ol_load_relaxed(&m->epoch) == ol_run_process.number;
}

static bool is_of_this_epoch(const struct mutex *m)
{
	if (OL_UNLIKELY(!seems_of_this_epoch(m)))
		know_process();
	return seems_of_this_epoch(m);
}

/* Relaxed: a thread that sees it early only queues behind us. */
static void be_of_this_epoch(struct mutex *m)
{
	ol_store_relaxed(&m->epoch, ol_load_relaxed(&ol_run_process.number));
}

/*
 * A free lock may say who waits for it, or even that one of these is to have it next (`rota`). In a mutex of
 * another epoch they are the parent's threads. None of ours waits there before the epoch is this one, and
 * if a thread acquired the lock after we read it, the CAS fails: the lock is read before the epoch.
 */
static void forget_waiters(struct mutex *m, const struct ol_lock_ops *ops)
{
	uint64_t word = ol_load_acquire(&m->lock[0]);

	if (!word || !(ops->traits & OL_BY_CLOCK) || ops->size > sizeof(word))
		return;
	if (!is_of_this_epoch(m) && !ops->is_locked(&word))
		ol_cas_relaxed(&m->lock[0], word, (uint64_t)0);
}

/*
 * It has not been acquired in this epoch: its holder acquired it before the fork, and if that is a
 * thread that is not here, it is never released, as under glibc. Hence by trylock and with naps.
 */
static OL_COLD bool acquire_first(struct mutex *m, const struct ol_lock_ops *ops, ol_ticks_t until)
{
	uint64_t step_ns = 0;
	ol_ticks_t began = IS_CHECKED ? ol_now() : 0;

	for (;;) {
		forget_waiters(m, ops);
		FOR_CALLER();
		if (ops->trylock(m->lock)) {
			be_of_this_epoch(m);
			return true;
		}
		if (is_of_this_epoch(m) || ol_passed(until))
			return false;
		ol_run_misuse_nap(began);
		ol_run_nap(&step_ns, until);
	}
}

static void wait_for(struct mutex *m, const struct ol_lock_ops *ops)
{
	struct wait w;

	if (ol_run_is_realtime()) {
		ol_run_wait_realtime(m, ops, OL_NEVER);
		return;
	}
	ol_run_wait_begin(&w, m, ops, OL_NEVER);
	FOR_CALLER();
	ops->lock(m->lock);
	ol_run_wait_end(&w);
}

static OL_COLD int acquire_slow(struct mutex *m)
{
	const struct ol_lock_ops *ops = ol_run_mutex_ops(m);

	know_process();
	ol_run_misuse_wait(m);
	if (is_of_this_epoch(m) || !acquire_first(m, ops, OL_NEVER))
		wait_for(m, ops);
	ol_run_misuse_wait_over();
	return 0;
}

/* What counts leaves the first attempt to the lock, lest it be counted as a trylock. */
static inline int acquire(struct mutex *m, const struct ol_lock_ops *ops)
{
	int busy = IS_COUNTED || !seems_of_this_epoch(m) ? EBUSY : ops->take(m->lock);

	return OL_UNLIKELY(busy) ? acquire_slow(m) : busy;
}

static inline bool try_acquire(struct mutex *m, const struct ol_lock_ops *ops)
{
	if (!is_of_this_epoch(m))
		forget_waiters(m, ops);
	FOR_CALLER();
	if (!ops->trylock(m->lock))
		return false;
	be_of_this_epoch(m);
	return true;
}

static bool acquire_until(struct mutex *m, const struct ol_lock_ops *ops, ol_ticks_t until)
{
	struct wait w;
	bool ok;

	know_process();
	if (!is_of_this_epoch(m)) {
		if (acquire_first(m, ops, until))
			return true;
		if (!is_of_this_epoch(m))
			return false;
	}
	if (ol_run_is_realtime())
		return ol_run_wait_realtime(m, ops, until);
	FOR_CALLER();
	if (!ol_run_can_give_up(ops))
		return ol_run_gate_wait(m, ops, until);
	ol_run_wait_begin(&w, m, ops, until);
	ok = ops->timedlock(m->lock, until);
	ol_run_wait_end(&w);
	return ok;
}

/*
 * In pieces of a second at most, each converted anew: the wall clock may be set meanwhile, and the
 * lock's clock is another one.
 */
static int acquire_by(struct mutex *m, const struct ol_lock_ops *ops, clockid_t clock,
		      const struct timespec *until)
{
	const uint64_t most_ns = 1000000000;

	if (try_acquire(m, ops))
		return 0;
	if (!ol_run_time_is_valid(until))
		return EINVAL;
	for (;;) {
		uint64_t left = ol_run_ns_left(clock, until);

		if (!left)
			return ETIMEDOUT;
		left = left < most_ns ? left : most_ns;
		if (acquire_until(m, ops, ol_after(1, ol_ticks_from_ns(left))))
			return 0;
	}
}

/*
 * The words of the lock become zero, the first one last: a lock that is free says so there. No
 * thread of this process is in its queue (struct mutex). Nothing is touched afterwards.
 */
static OL_COLD int renounce(struct mutex *m)
{
	ol_store_relaxed(&m->gate, (uint64_t)0);
	ol_store_relaxed(&m->lock[1], (uint64_t)0);
	ol_store_release(&m->lock[0], (uint64_t)0);
	return 0;
}

static OL_COLD int release_slow(struct mutex *m, const struct ol_lock_ops *ops)
{
	if (is_of_this_epoch(m))
		return ol_run_gate_release(m, ops);
	return renounce(m);
}

static inline int release(struct mutex *m, const struct ol_lock_ops *ops)
{
	if (OL_UNLIKELY(!seems_of_this_epoch(m)))
		return release_slow(m, ops);
	if (OL_UNLIKELY(ol_load_relaxed(low_half(&m->gate))))
		return ol_run_gate_release(m, ops);
	return ops->release(m->lock);
}

/*
 * Recursive and errorcheck, and all in the checked library. Only the holder itself can find its own id
 * in `owner`.
 */

static uint32_t id_in(const struct mutex *m)
{
	return is_of_this_epoch(m) ? ol_run_self() : ol_run_former_self();
}

static bool is_mine(const struct mutex *m)
{
	uint32_t owner = ol_load_relaxed(&m->owner);

	return owner && owner == id_in(m);
}

static int own(struct mutex *m)
{
	ol_store_relaxed(&m->owner, ol_run_self());
	return 0;
}

static int acquire_again(struct mutex *m)
{
	if (m->depth == UINT32_MAX)
		return EAGAIN;
	m->depth++;
	return 0;
}

static bool is_recursive(const struct mutex *m)
{
	return (kind_of(m) & KIND_TYPE) == PTHREAD_MUTEX_RECURSIVE_NP;
}

static bool is_owned_kind(const struct mutex *m)
{
	return is_recursive(m) || (kind_of(m) & KIND_TYPE) == PTHREAD_MUTEX_ERRORCHECK_NP;
}

static bool has_owner(const struct mutex *m)
{
	return IS_CHECKED || is_owned_kind(m);
}

static __attribute__((noinline)) int lock_other(struct mutex *m, const void *site)
{
	const struct ol_lock_ops *ops = ops_for(m, site);

	if (!ops) {
		count_glibc(m);
		return ol_run_real.mutex_lock(left_to_glibc(m));
	}
	if (is_owned_kind(m)) {
		if (is_mine(m))
			return is_recursive(m) ? acquire_again(m) : EDEADLK;
	} else if (IS_CHECKED && is_mine(m)) {
		ol_run_misuse_relock(m);
	}
	acquire(m, ops);
	return has_owner(m) ? own(m) : 0;
}

static __attribute__((noinline)) int trylock_other(struct mutex *m, const void *site)
{
	const struct ol_lock_ops *ops = ops_for(m, site);

	if (!ops) {
		count_glibc(m);
		return ol_run_real.mutex_trylock(left_to_glibc(m));
	}
	if (is_recursive(m) && is_mine(m))
		return acquire_again(m);
	if (!try_acquire(m, ops))
		return EBUSY;
	return has_owner(m) ? own(m) : 0;
}

static int timedlock_ours(struct mutex *m, const struct ol_lock_ops *ops, clockid_t clock,
			  const struct timespec *until)
{
	int error;

	if (is_owned_kind(m) && is_mine(m))
		return is_recursive(m) ? acquire_again(m) : EDEADLK;
	error = acquire_by(m, ops, clock, until);
	return error || !has_owner(m) ? error : own(m);
}

static __attribute__((noinline)) int unlock_other(struct mutex *m)
{
	const struct ol_lock_ops *ops = ol_run_mutex_ops(m);

	if (!ops)
		return ol_run_real.mutex_unlock(glibc(m));
	if (is_owned_kind(m)) {
		if (!is_mine(m))
			return EPERM;
		if (is_recursive(m) && m->depth) {
			m->depth--;
			return 0;
		}
	} else if (IS_CHECKED && !ol_run_misuse_unlock(m, is_mine(m))) {
		return 0;
	}
	if (has_owner(m))
		ol_store_relaxed(&m->owner, 0u);
	return release(m, ops);
}

/*
 * The normal kind under the chosen lock, in a process that has started, is the straight way through;
 * under a lock that a rule chose it is the next best. Null: neither. Acquire: with what ol_run_start() wrote.
 */
static inline const struct ol_lock_ops *straight(const struct mutex *m)
{
	uint32_t kind = kind_of(m), plain = ol_load_acquire(&ol_run_plain_kind);
	const struct ol_lock_ops *ops = ol_run_chosen;

	if (OL_UNLIKELY(kind != plain))
		return (kind ^ plain) & ~(uint32_t)KIND_CHOICE
			       ? 0
			       : ol_run_choices[kind >> KIND_CHOICE_SHIFT];
	if (!ops)
		__builtin_unreachable(); /* there is no plain kind without it: nobody asks again */
	return ops;
}

static inline int lock_at(struct mutex *m, const void *site)
{
	const struct ol_lock_ops *ops = straight(m);

	return ops ? acquire(m, ops) : lock_other(m, site);
}

static inline int unlock(struct mutex *m)
{
	const struct ol_lock_ops *ops = straight(m);

	return ops ? release(m, ops) : unlock_other(m);
}

int ol_run_mutex_lock(struct mutex *m, const void *site)
{
	return lock_at(m, site);
}

int ol_run_mutex_unlock(struct mutex *m)
{
	return unlock(m);
}

/* Programs call these two most, so they are here and not in api.c: one function each, without a jump. */

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	CALLED();
	return lock_at((struct mutex *)(void *)mutex, CALLER);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	CALLED_TO_END();
	return unlock((struct mutex *)(void *)mutex);
}

ALIAS(pthread_mutex_lock);
ALIAS(pthread_mutex_unlock);

int ol_run_mutex_trylock(struct mutex *m, const void *site)
{
	const struct ol_lock_ops *ops = straight(m);

	if (!ops)
		return trylock_other(m, site);
	return try_acquire(m, ops) ? 0 : EBUSY;
}

int ol_run_mutex_timedlock(struct mutex *m, clockid_t clock, const struct timespec *until,
			   const void *site)
{
	const struct ol_lock_ops *ops = ops_for(m, site);

	if (!ol_run_clock_is_known(clock))
		return EINVAL;
	if (ops)
		return timedlock_ours(m, ops, clock, until);
	count_glibc(m);
	if (clock == CLOCK_REALTIME)
		return ol_run_real.mutex_timedlock(left_to_glibc(m), until);
	return ol_run_real.mutex_clocklock(left_to_glibc(m), clock, until);
}

/* glibc reads the attributes, and leaves all zero but for the kind. */
int ol_run_mutex_init(struct mutex *m, const pthread_mutexattr_t *attr, const void *site)
{
	int error;

	ol_run_misuse_init(m);
	if (!attr && lock_ops() && !ol_run_has_rules) {
		memset(m, 0, sizeof(pthread_mutex_t));
		be_of_this_epoch(m); /* nobody waits for it */
		return 0;
	}
	lock_ops(); /* for `ol_run_real` */
	error = ol_run_real.mutex_init(glibc(m), attr);
	if (!error && ops_for(m, site) && !is_owned_kind(m))
		m->kind &=
			KIND_CHOICE; /* adaptive and plain are one to us: both the straight way */
	return error;
}

/* Marked as glibc marks them, so that any use before the next init is refused by glibc: EINVAL. */
int ol_run_mutex_destroy(struct mutex *m)
{
	const struct ol_lock_ops *ops = ol_run_mutex_ops(m);

	if (!ops)
		return ol_run_real.mutex_destroy(glibc(m));
	ol_run_misuse_destroy(m, ops->is_locked(m->lock));
	if (ops->is_locked(m->lock))
		return EBUSY;
	ol_store_relaxed(&m->kind, (uint32_t)-1);
	return 0;
}
