/* SPDX-License-Identifier: MIT */
/*
 * Long waits: under any lock, a waiter that has polled for `longest_spin` sleeps until the release.
 *
 * A lock that spins or yields relies on the scheduler to run the holder. The scheduler does not if the
 * waiter has a real-time priority and the holder a lower one, if the holder is stopped, frozen, traced,
 * throttled or SCHED_IDLE; then polling burns the CPU, perhaps for ever. So the locks call polled()
 * after each poll in vain (ol_on_poll()), and it decides:
 *
 *	polled for `spin`	a real-time thread sleeps; so does a waiter of a lock that hands over, if
 *				others sleep already, since they are ahead of it
 *	for `longest_spin`	every thread sleeps
 *
 * A thread that is known to be real-time does not poll at all, nor enter the lock's queue: it sleeps, and the next
 * release hands it the lock, the highest priority first, as the kernel wakes threads from a futex. Others find the
 * lock taken meanwhile.
 *
 * Any other sleeper keeps its position in the lock's queue, so FIFO locks stay FIFO among them. It adds itself to a list by
 * mutex, sets SLEEPERS in the mutex's gate, polls once more, and sleeps. A release that finds SLEEPERS
 * wakes the first of the list after it has unlocked. The list is by the time at which waits began, which
 * is nearly the order of the lock's queue. Where it is not, the thread that was woken in vain wakes the
 * next in the list, RELAYS times at most.
 *
 * A release looks at the gate before it unlocks, since the mutex may be gone afterwards. Thus it may miss
 * a waiter that has not set SLEEPERS yet, and if it unlocks only after that waiter's last poll the
 * waiter sleeps on. Therefore all sleep is timed: an eighth of what the wait has lasted, from 1 to 100 ms.
 *
 * Waits that no mutex is known for (rwlocks, spinlocks, a release that waits for a waiter to join the
 * queue) have nobody to wake them, and nap for shorter times.
 *
 * All of this lies behind the lock's first attempt: an uncontended acquisition pays nothing.
 */
#define OL_POLL_HOOK
#include "interposer.h"

#include "bare.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BUCKETS = 1 << 10, RELAYS = 3, LONGEST_NAP_NS = 100000000 };

static struct bucket {
	pthread_mutex_t mutex; /* glibc's: it sleeps, whatever runs under us */
	struct wait *first, *last;
	uint64_t signals; /* that were blocked before, of who has it */
} OL_OWN_LINE buckets[BUCKETS];

static bool any_was_used; /* else a fork's child leaves their memory untouched */

static _Thread_local struct wait *waiting __attribute__((tls_model("initial-exec")));

static struct bucket *bucket_of(const struct mutex *m)
{
	uint64_t hash = (uintptr_t)m * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */

	return &buckets[hash >> 54];
}
_Static_assert(BUCKETS == 1 << (64 - 54), "the hash's upper bits are the bucket");

/* By the system call itself: glibc's function would leave its own signals out. */
static uint64_t change_signals(uint64_t blocked)
{
	uint64_t before = 0;
	int saved = errno;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, &before, sizeof(blocked));
	errno = saved;
	return before;
}

#define SIGNAL(number) ((uint64_t)1 << ((number) - 1))

uint64_t ol_run_block_signals(void)
{
	/* Of what the thread does itself: blocked, they would end the program. */
	const uint64_t faults = SIGNAL(SIGSEGV) | SIGNAL(SIGBUS) | SIGNAL(SIGILL) | SIGNAL(SIGFPE) |
				SIGNAL(SIGTRAP) | SIGNAL(SIGSYS);

	return change_signals(~faults);
}

void ol_run_restore_signals(uint64_t blocked)
{
	(void)change_signals(blocked);
}

/*
 * No signal handler comes while we have a bucket: it might need the same one, or fork, or never return
 * (longjmp()).
 */
static struct bucket *enter(const struct mutex *m)
{
	struct bucket *b = bucket_of(m);
	uint64_t signals = ol_run_block_signals();

	ol_store_relaxed(&any_was_used, true);
	ol_run_real.mutex_lock(&b->mutex);
	b->signals = signals;
	return b;
}

static void leave(struct bucket *b)
{
	uint64_t signals = b->signals;

	ol_run_real.mutex_unlock(&b->mutex);
	ol_run_restore_signals(signals);
}

#include "sleepers.h"

/* Saturates: tunables may be `inf`. */
static ol_ticks_t later(ol_ticks_t t, ol_ticks_t by)
{
	return by > OL_NEVER - t ? OL_NEVER : t + by;
}

static uint64_t limited(uint64_t ns, uint64_t least, uint64_t most)
{
	return ns < least ? least : ns > most ? most : ns;
}

/* An eighth of the time waited; as the clock was corrected meanwhile, that may be a little less than none. */
static ol_ticks_t nap_end(ol_ticks_t began, ol_ticks_t now, uint64_t least_ns, uint64_t most_ns)
{
	ol_ticks_t waited = ol_before(now, began) ? 0 : now - began;
	uint64_t ns = limited(ol_ns_from_ticks(waited) / 8, least_ns, most_ns);

	return ol_after(1, ol_ticks_from_ns(ns));
}

static void nap_until(ol_ticks_t end)
{
	uint32_t alone = 0; /* not clock_nanosleep(): that is a cancellation point */

	ol_park(&alone, 0, OL_ANY, end);
}

/*
 * Asked at most every 100 ms: a thread that changes its policy in between polls for `longest_spin` at
 * the worst, or sleeps early, or out of order.
 */
static _Thread_local struct {
	ol_ticks_t ask_again;
	unsigned priority; /* 0: not real-time; above all of SCHED_FIFO's: SCHED_DEADLINE */
	bool is_idle;
} policy __attribute__((tls_model("initial-exec")));

static void ask_policy(ol_ticks_t now)
{
	struct sched_param param = { 0 };
	int saved = errno, is;

	if (ol_before(now, policy.ask_again))
		return;
	policy.ask_again = now + ol_ticks_from_ns(100000000);
	is = sched_getscheduler(0);
	policy.is_idle = is == SCHED_IDLE;
	policy.priority = is == SCHED_DEADLINE ? 100 : 0;
	if ((is == SCHED_FIFO || is == SCHED_RR) && !sched_getparam(0, &param))
		policy.priority = (unsigned)param.sched_priority;
	errno = saved;
}

static bool is_realtime(ol_ticks_t now)
{
	ask_policy(now);
	return policy.priority;
}

/*
 * Others could wait for a bucket for as long as such a thread has no CPU. So it takes none: it naps where others
 * sleep, and those that it does not wake look by themselves.
 */
static bool is_idle(ol_ticks_t now)
{
	ask_policy(now);
	return policy.is_idle;
}

void ol_run_sleepers_release(struct mutex *m, const struct ol_lock_ops *ops)
{
	if (is_idle(ol_now())) {
		ops->unlock(m->lock);
		return;
	}
	unlock_and_wake(m, ops, m->lock);
	ol_run_note_tell();
}

/* Until the first look at our own policy. */
static ol_ticks_t shortest_spin(void)
{
	return ol_earlier(ol_tune(spin), ol_tune(longest_spin));
}

/* May be a wait as short as any: looked at after `spin`, and then after `longest_spin`. */
static bool is_long(struct wait *w, ol_ticks_t now)
{
	if (ol_before(now, w->due))
		return false;
	if (w->looked)
		return true;
	w->looked = true;
	w->is_realtime = is_realtime(now);
	if (w->is_realtime || (w->mutex && hands_over(w) && ol_run_gate_has_sleepers(w->mutex)))
		return true;
	w->due = later(w->began, ol_tune(longest_spin));
	return false;
}

/*
 * Woken, and not in time. Where anybody may have the lock we compete for another while; else it is not
 * our turn.
 */
static bool may_compete(struct wait *w, ol_ticks_t now)
{
	if (hands_over(w) || w->is_realtime)
		return false;
	if (!w->competes)
		w->due =
			later(now, ol_tune(longest_spin)); /* is_long() answers for us until then */
	w->competes = !w->competes;
	return w->competes;
}

static void sleep_in_list(struct wait *w, ol_ticks_t now)
{
	if (is_listed(w) && ol_load_relaxed(&w->state) == ASLEEP) {
		ol_park(&w->state, ASLEEP, OL_ANY,
			ol_earlier(nap_end(w->began, now, 1000000, LONGEST_NAP_NS), w->until));
		return;
	}
	if (w->slept && may_compete(w, now))
		return;
	if (!w->slept) {
		ol_count(OL_LONG_WAIT);
		ol_run_note_sleep(w->ops);
	}
	w->slept = true;
	lie_down(w);
}

/*
 * A wait for another thread's next steps, or in a release or at the start, which no ol_run_wait_begin()
 * announces: its polls follow each other closely. Naps are short, for several such waits may look like
 * one.
 */
static void polled_loose(ol_ticks_t until, ol_ticks_t now)
{
	static _Thread_local struct {
		ol_ticks_t began, last;
	} loose __attribute__((tls_model("initial-exec")));
	ol_ticks_t gap = ol_ticks_from_ns(1000000);

	if (!loose.began || ol_before(loose.last + gap, now))
		loose.began = now;
	loose.last = now;
	if (ol_before(now, later(loose.began, shortest_spin())))
		return;
	if (ol_before(now, loose.began + gap) && !is_realtime(now))
		return;
	nap_until(ol_earlier(nap_end(loose.began, now, 10000, 200000), until));
	loose.last = ol_now();
}

/* Now and then by the clock: a counter that stands still would never ask for that. */
static ol_ticks_t now_or_by_clock(void)
{
	static _Thread_local uint8_t polls __attribute__((tls_model("initial-exec")));

	return ++polls ? ol_now() : ol_now_by_clock();
}

/* After each poll in vain, by whichever lock. */
static void polled(ol_ticks_t until)
{
	struct wait *w = waiting;
	ol_ticks_t now = now_or_by_clock();

	if (ol_tune(longest_spin) == OL_NEVER)
		return;
	if (OL_UNLIKELY(!w || !until)) {
		polled_loose(until ? until : OL_NEVER, now);
	} else if (!is_long(w, now)) {
		return;
	} else if (w->mutex) {
		sleep_in_list(w, now);
	} else {
		if (!w->slept)
			ol_count(OL_LONG_WAIT);
		w->slept = true;
		nap_until(ol_earlier(nap_end(w->began, now, 10000, LONGEST_NAP_NS), until));
	}
}

/*
 * Its waiters sleep by themselves before a wait is long, and wake up by the clock to compete or to claim the lock.
 * What they poll after that is no long wait, and to sleep in the list would cost them their turn.
 */
static bool sleeps_in_time(const struct ol_lock_ops *ops)
{
	return ops->traits & OL_BY_CLOCK;
}

#ifdef OL_COUNTED
static void note_calls(struct wait *w)
{
	w->counted = ol_counting.current;
}

static void forget_calls(const struct wait *w)
{
	ol_counting.current = w->counted;
}
#else
#define note_calls(w)	((void)(w))
#define forget_calls(w) ((void)(w))
#endif

/* Its queue has a place for a waiter that will never come. */
static void say_that_it_is_stuck(const struct ol_lock_ops *ops)
{
	static const char why[] =
		": a signal handler has jumped out of a wait for a mutex, which now "
		"waits for that thread; run with --lock tas_yield\n";
	char text[sizeof("overlock: ") + sizeof(why) + 64], *end;
	int fd = ol_run_terminal_open();

	if (fd < 0)
		return;
	end = stpcpy(text, "overlock: ");
	end = stpncpy(end, ops->id, 64);
	end = stpcpy(end, why);
	(void)ol_run_write_at_once(fd, text, (size_t)(end - text));
	ol_bare_close(fd);
}

/* A handler jumps out of the wait, or it ends by an asynchronous cancellation: glibc calls this first. */
static void left(void *arg)
{
	struct wait *w = arg;

	waiting = w->outer;
	forget_calls(w);
	ol_run_misuse_wait_over();
	if (w->mutex && is_listed(w))
		get_up(w);
	if (w->mutex && !ol_run_can_give_up(w->ops))
		say_that_it_is_stuck(w->ops);
}

void ol_run_wait_begin(struct wait *w, struct mutex *m, const struct ol_lock_ops *ops,
		       ol_ticks_t until)
{
	*w = (struct wait){ .outer = waiting, .ops = ops, .until = until };
	w->began = ol_now();
	w->mutex = is_idle(w->began) ? 0 : m;
	w->due = sleeps_in_time(ops) ? OL_NEVER
				     : later(w->began, policy.priority ? 0 : shortest_spin());
	note_calls(w);
	ol_run_real.cleanup_push(&w->cleanup, left, w);
	waiting = w; /* a handler that interrupts us here, or later, restores what it finds */
}

void ol_run_wait_end(struct wait *w)
{
	waiting = w->outer;
	if (w->mutex && is_listed(w))
		get_up(w);
	ol_run_real.cleanup_pop(&w->cleanup, 0);
}

/* Real-time threads. */

static uint32_t
	realtime_waiters; /* relaxed: a release that misses one is missed itself, see above */

bool ol_run_is_realtime(void)
{
	return ol_tune(longest_spin) != OL_NEVER && is_realtime(ol_now());
}

static void nap_realtime(struct wait *w)
{
	ol_park(&w->state, ASLEEP, OL_ANY,
		ol_earlier(nap_end(w->began, ol_now(), 1000000, LONGEST_NAP_NS), w->until));
}

static bool try_free(struct mutex *m, const struct ol_lock_ops *ops)
{
	if (ops->is_locked(m->lock))
		return false;
	FOR_CALLER();
	return ops->trylock(m->lock);
}

#ifdef OL_COUNTED
static void count_begin(struct ol_call *c, struct mutex *m, const struct ol_lock_ops *ops)
{
	ol_acquire_begin(c, ol_run_outside_at(m, ops), ops, ol_run_caller);
	ol_count(OL_LONG_WAIT);
}

/* What try_free() got, it has counted. */
static void count_end(struct ol_call *c, bool got, bool granted)
{
	if (got)
		ol_counting.current = c->outer;
	else
		ol_acquire_end(c, granted ? OL_ACQUIRE : OL_GIVE_UP);
}
#else
struct ol_call {
	char none;
};
#define count_begin(c, m, ops)	   ((void)(c))
#define count_end(c, got, granted) ((void)(c))
#endif

static void begin_realtime(struct wait *w, void (*left)(void *))
{
	uint64_t signals = ol_run_block_signals();

	ol_run_real.cleanup_push(&w->cleanup, left, w);
	ol_add_relaxed(&realtime_waiters, 1u);
	lie_down(w);
	ol_run_restore_signals(signals);
}

static void end_realtime(struct wait *w)
{
	uint64_t signals = ol_run_block_signals();

	get_up(w);
	ol_add_relaxed(&realtime_waiters, -1u);
	ol_run_real.cleanup_pop(&w->cleanup, 0);
	ol_run_restore_signals(signals);
}

static void left_realtime(void *arg)
{
	struct wait *w = arg;

	end_realtime(w);
	forget_calls(w);
	ol_run_misuse_wait_over();
	if (w->granted)
		ol_run_gate_release(w->mutex, w->ops);
}

OL_COLD bool ol_run_wait_realtime(struct mutex *m, const struct ol_lock_ops *ops, ol_ticks_t until)
{
	struct wait w = { .mutex = m, .ops = ops, .until = until, .priority = policy.priority };
	struct ol_call call;
	bool got = false;

	w.began = ol_now();
	note_calls(&w);
	count_begin(&call, m, ops);
	begin_realtime(&w, left_realtime);
	while (ol_load_relaxed(&w.state) == ASLEEP && !(got = try_free(m, ops)) &&
	       !ol_passed(until))
		nap_realtime(&w);
	end_realtime(&w);
	count_end(&call, got, w.granted);
	return got || w.granted;
}

/* The first of the list, if it waits outside of the queue. It leaves the list as the holder. */
static uint32_t *grant_first(struct bucket *b, const struct mutex *m)
{
	struct wait *first = next_for(m, b->first);

	if (!first || !first->priority)
		return 0;
	first->granted = true; /* and the state: the bucket orders them, get_up() looks within it */
	ol_store_relaxed(&first->state, (uint32_t)AWAKE);
	delist(b, first);
	return &first->state;
}

bool ol_run_hand_to_realtime(struct mutex *m, const struct ol_lock_ops *ops)
{
	const void *lock = IS_COUNTED ? ol_run_outside_at(m, ops) : 0;
	uint32_t *state;
	struct bucket *b;

	if (!ol_load_relaxed(&realtime_waiters) || is_idle(ol_now()))
		return false;
	b = enter(m);
	state = grant_first(b, m);
	leave(b);
	if (!state)
		return false;
	ol_run_count_release(lock, ops);
	kick(state);
	return true;
}

/* In the child of a fork the list has the parent's threads. */
void ol_run_sleepers_renew(void)
{
	realtime_waiters = 0;
	for (struct bucket *b = buckets; any_was_used && b < buckets + BUCKETS; b++)
		*b = (struct bucket){ .mutex = PTHREAD_MUTEX_INITIALIZER };
}

void ol_run_sleepers_start(void)
{
	ol_on_poll(polled);
}
