/* SPDX-License-Identifier: MIT */
/*
 * A thread in a waiting loop: how long it has been there, and when it yields.
 *
 * A stub comes here after as many rounds as take about LOOK_NS. Rounds that took much longer were no single wait: in
 * between the thread did something else, or had no CPU. In one wait it spins for its patience first. Then it yields. If
 * others ran meanwhile, it looks at its word and yields again, and in its next wait it yields at the first look: somebody
 * wants its CPU. If nobody did, it spins before it asks again: for its patience, twice that the next time, up to MOST
 * times, until a yield finds somebody. So where each thread has a CPU, it costs next to nothing. A loop that counts its
 * rounds is let count: what it gives away by yielding is never much more than what all its rounds take.
 *
 * Called in between two instructions of a program that expects nothing: no function of libc's, no errno, no vector
 * register (-mgeneral-regs-only), and only memory of threads that exists since they began (initial-exec).
 */
#include "spins.h"

#include "internal.h"

#include <overlock/port.h>
#include <sys/syscall.h>
#include <x86intrin.h>

enum {
	LOOK_NS = 800,
	AGAIN_NS = 100,	 /* between yields while they find others */
	COLD_NS = 20000, /* the first rounds after others ran: nothing is in the caches */
	SLACK_NS =
		4000000, /* that a counted wait may give away beyond what it spun: a time slice */
	WINDOW_NS =
		100000000, /* after which the length of a round is learnt anew: clocks change their speed */
	SAME = 4, /* one wait's rounds may take so many times the shortest: hyperthreads share a core */
	ALONE = 4, /* a yield of less than so many times the shortest found nobody */
	ALONE_NS =
		1500, /* that a yield takes at most that finds nobody, until shorter ones are seen */
	MOST = 16,    /* times the patience, between yields that find nobody */
	SHARE = 256,  /* rounds are measured in parts of a tick */
};

static uint64_t patience, look, again, cold, slack, window;
static uint32_t shortest_yield; /* ticks */
static bool stopped;

struct waiter {
	uint32_t left, rounds; /* until the next look; and in all since the last one */
	struct site *site;
	uint64_t last; /* look */
	uint64_t patient_since;
	uint64_t spun, yielded; /* in this wait, ticks */
	uint64_t asked;		/* whether it has a realtime priority, and whether it had */
	bool is_realtime;
	bool is_cold;	/* others have run on its CPU since the last look */
	uint64_t count; /* what a loop that counts had in its register */
	int64_t step;	/* what it seems to count up or down by in a round; 0: not yet known */
	uint32_t times; /* the patience, before the next yield; 0: others ran in the last one */
};
/* From the first round on: a thread has counted one round when it first looks. */
static __thread struct waiter me
	__attribute__((tls_model("initial-exec"))) = { .left = 1, .rounds = 1, .times = 1 };

int32_t ol_spins_rounds_offset(void)
{
	int64_t offset = (const char *)&me.left - (const char *)__builtin_thread_pointer();

	/* GCC 16 would read 4 bytes of it (movl me@gottpoff), which binutils 2.47 refuses. */
	__asm__("" : "+r"(offset));
	return (int32_t)offset;
}

void ol_spins_set_patience(uint64_t ns)
{
	patience = ol_ticks_from_ns(ns);
	look = ol_ticks_from_ns(LOOK_NS);
	again = ol_ticks_from_ns(AGAIN_NS);
	cold = ol_ticks_from_ns(COLD_NS);
	slack = ol_ticks_from_ns(SLACK_NS);
	window = ol_ticks_from_ns(WINDOW_NS);
	shortest_yield = (uint32_t)ol_ticks_from_ns(ALONE_NS);
}

static inline uint64_t counter(void)
{
	return __rdtsc();
}

static inline long call(long number, long first)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(first)
			 : "rcx", "r11", "memory");
	return result;
}

/*
 * Threads that are about to yield, or do. Sequentially consistent, with `stopped`: either a thread sees that nobody may
 * yield any more, or who stops them sees the thread, and waits for it.
 */
static int yielding;

static bool begin_yield(void)
{
	__atomic_fetch_add(&yielding, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&stopped, __ATOMIC_SEQ_CST))
		return true;
	__atomic_fetch_sub(&yielding, 1, __ATOMIC_RELAXED);
	return false;
}

/* Release: the thread that stops them sees that it is over. */
static void end_yield(void)
{
	__atomic_fetch_sub(&yielding, 1, __ATOMIC_RELEASE);
}

/* Not for ever: of a child without fork()'s handlers the count may have threads of its parent. */
void ol_spins_stop_yielding(void)
{
	uint64_t until = counter() + window;

	__atomic_store_n(&stopped, true, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&yielding, __ATOMIC_SEQ_CST) && counter() < until)
		call(SYS_sched_yield, 0);
}

void ol_spins_renew_yielding(void)
{
	__atomic_store_n(&yielding, 0, __ATOMIC_RELAXED);
}

/* Yields let no thread of lower priority run. Asked now and then: one yield too many gains nothing, and harms nobody. */
static bool is_realtime(struct waiter *w)
{
	long policy;

	if (w->asked && w->last - w->asked < window)
		return w->is_realtime;
	w->asked = w->last;
	policy = call(SYS_sched_getscheduler, 0) & ~0x40000000;	    /* SCHED_RESET_ON_FORK */
	w->is_realtime = policy == 1 || policy == 2 || policy == 6; /* FIFO, RR, DEADLINE */
	return w->is_realtime;
}

/* Learns how long a round is; parts of a tick. Relaxed: an update that is lost comes again. */
static uint32_t learn(struct site *s, uint64_t now, uint64_t passed, uint32_t rounds)
{
	uint64_t each = passed * SHARE / rounds + 1;
	uint32_t current = ol_load_relaxed(&s->round), before = ol_load_relaxed(&s->round_before);

	if (now > ol_load_relaxed(&s->window)) {
		ol_store_relaxed(&s->window, now + window);
		ol_store_relaxed(&s->round_before, before = current ? current : before);
		current = 0;
	}
	if (!current || each < current)
		ol_store_relaxed(&s->round,
				 current = each < UINT32_MAX ? (uint32_t)each : UINT32_MAX);
	return before && before < current ? before : current;
}

/* The next look is after about that time. */
static void look_after(struct waiter *w, uint64_t ticks, uint32_t round)
{
	uint64_t rounds = ticks * SHARE / round;

	/* Never many times more than last time: the first lengths have the look itself in them. */
	if (rounds > 8ull * w->rounds)
		rounds = 8ull * w->rounds;
	w->rounds = rounds > INT32_MAX ? INT32_MAX : rounds ? (uint32_t)rounds : 1;
	w->left = w->rounds;
}

/* Whether another thread ran. */
static bool yield(struct site *s, struct waiter *w)
{
	uint64_t before, took;
	uint32_t shortest = ol_load_relaxed(&shortest_yield);
	bool found;

	if (!begin_yield())
		return false;
	if (is_realtime(w)) {
		end_yield();
		return false;
	}
	before = counter();
	call(SYS_sched_yield, 0);
	w->last = counter();
	end_yield();
	took = w->last - before;
	/* Relaxed: a shorter one comes again. */
	if (took < shortest)
		ol_store_relaxed(&shortest_yield, shortest = (uint32_t)took);
	found = took > (uint64_t)ALONE * shortest;
	w->yielded += took;
	/* Relaxed: they are only told. */
	__atomic_fetch_add(&s->yields, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->found, found, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->yielded, took, __ATOMIC_RELAXED);
	return found;
}

static bool is_counted(const struct site *s)
{
	return s->counter != OL_REGISTER_NONE;
}

/* How long the rounds take that a counted loop has still to do, as far as that is known; without a sign, as they wrap. */
static uint64_t left(const struct site *s, int64_t step, const uint64_t *registers, uint32_t round)
{
	uint64_t bound = (uint64_t)s->bound_is, count = registers[s->counter], rounds;

	if (!step || (s->bound == OL_REGISTER_NONE && s->bound_is == OL_NO_BOUND))
		return 0;
	if (s->bound != OL_REGISTER_NONE)
		bound = registers[s->bound];
	rounds = step > 0 ? (bound - count) / (uint64_t)step : (count - bound) / -(uint64_t)step;
	return rounds < INT32_MAX ? rounds * round / SHARE : INT64_MAX;
}

/* A wait that counts may give away as much time as it spins, before it has spun so long. */
static bool has_given_enough(const struct site *s, const struct waiter *w,
			     const uint64_t *registers, uint32_t round)
{
	return is_counted(s) && w->yielded > w->spun + slack + left(s, w->step, registers, round);
}

/*
 * Whether this is still the wait of the last look. A loop that counts says so itself: by as many steps as it did
 * rounds. It has to be known exactly there, for a wait that is taken for a new one may give away as much again. Of other
 * loops only time tells: rounds that took much longer were no single wait.
 *
 * Looks of two waits may seem to be some steps apart, too. So a step counts from the second time on, and never for good.
 */
static bool is_same(const struct site *s, struct waiter *w, uint64_t count, bool is_in_time)
{
	int64_t difference = (int64_t)(count - w->count), step = w->step;

	if (!w->site || w->site->loop != s->loop)
		return false;
	if (!is_counted(s))
		return is_in_time;
	if (is_in_time && difference % w->rounds == 0)
		w->step = difference / w->rounds;
	return step && difference == step * w->rounds;
}

void ol_spins_look(struct site *s, const uint64_t *registers)
{
	struct waiter *w = &me;
	uint64_t now = counter(), passed = now - w->last,
		 count = is_counted(s) ? registers[s->counter] : 0;
	uint32_t known =
		w->site == s ? learn(s, now, passed, w->rounds) : ol_load_relaxed(&s->round);
	uint32_t round = known ? known : SHARE; /* a tick, for a start */
	uint64_t expected = (uint64_t)w->rounds * round / SHARE;
	bool is_in_time = passed <= SAME * expected + (w->is_cold ? cold : again);

	if (!ol_load_relaxed(&s->waited)) /* else its line would go from CPU to CPU */
		ol_store_relaxed(&s->waited, true);
	if (!is_same(s, w, count, is_in_time)) {
		w->site = s;
		w->spun = w->yielded = 0;
	}
	if (!is_in_time || !w->spun)
		w->patient_since = now;
	w->spun += is_in_time ? passed : expected;
	w->last = now;
	w->count = count;
	w->is_cold = false;
	if (now - w->patient_since < w->times * patience ||
	    has_given_enough(s, w, registers, round)) {
		look_after(w, look, round);
		return;
	}
	if (!yield(s, w)) {
		w->patient_since = w->last;
		w->times = !w->times ? 1 : 2 * w->times < MOST ? 2 * w->times : MOST;
		look_after(w, look, round);
		return;
	}
	w->is_cold = true;
	w->times = 0;
	look_after(w, again, round);
}
