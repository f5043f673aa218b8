/* SPDX-License-Identifier: MIT */
/*
 * Excludes nobody, and each of the first meetings shows it, on one CPU too: two contexts enter
 * together and then execute one instruction each in turn, so both read what is guarded before either
 * writes it. Of all workloads, the list of `tx`, of four inodes, needs most of them: one meeting in six shows
 * nothing there, and twenty show nothing once in 10^15. Contexts that take it must make more turns than
 * there are meetings, and there must be more of them than locks: one that waits for its partner
 * waits until the meetings are over.
 */
#define _GNU_SOURCE /* REG_EFL */
#include <overlock/ops.h>

#include <signal.h>
#include <ucontext.h>

#define OL_LOCK_LINE OL_LOCK(in_step, waits, 0, "planted", "excludes nobody, by instruction")

enum { IN_STEP_MEETINGS = 20, IN_STEP_STEPS = 1000 };
enum { IN_STEP_EMPTY, IN_STEP_ONE, IN_STEP_BOTH, IN_STEP_ONE_LEFT }; /* inside */
enum { IN_STEP_OVER = 2 }; /* instead of the seat whose turn it is */
#define IN_STEP_TRAP_FLAG 0x100

typedef struct ol_in_step {
	uint32_t inside, turn;
} ol_in_step_t;

static uint32_t in_step_meetings;
static _Thread_local ol_in_step_t *in_step_at;
static _Thread_local uint32_t in_step_seat, in_step_steps;

static inline void in_step_await_turn(ol_in_step_t *l)
{
	uint32_t turn;

	while ((turn = ol_load_acquire(&l->turn)) != in_step_seat && turn != IN_STEP_OVER)
		ol_park(&l->turn, turn, OL_ANY, OL_NEVER);
}

static inline void in_step_say(uint32_t *word, uint32_t value)
{
	ol_store_release(word, value);
	ol_kick(word, OL_ANY, INT32_MAX);
}

/* After each instruction of one who has the trap flag: the handler itself runs without. */
static void in_step_trapped(int number, siginfo_t *info, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
	ol_in_step_t *l = in_step_at;

	(void)number, (void)info;
	*flags &= ~IN_STEP_TRAP_FLAG;
	if (!l || ol_load_relaxed(&l->turn) == IN_STEP_OVER)
		return;
	if (++in_step_steps == IN_STEP_STEPS) {
		in_step_say(&l->turn, IN_STEP_OVER);
		return;
	}
	in_step_say(&l->turn, !in_step_seat);
	in_step_await_turn(l);
	*flags |= IN_STEP_TRAP_FLAG;
}

__attribute__((constructor)) static void in_step_listen(void)
{
	struct sigaction action = { .sa_sigaction = in_step_trapped, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	ol_world->span =
		UINT64_MAX; /* or most steps would be a comparison of the counter with the clock */
}

static inline bool in_step_is_over(void)
{
	return ol_load_relaxed(&in_step_meetings) >= IN_STEP_MEETINGS;
}

/* True once a second one is there; false if none is to come. */
static inline bool in_step_await_partner(ol_in_step_t *l)
{
	while (ol_load_acquire(&l->inside) == IN_STEP_ONE) {
		ol_park(&l->inside, IN_STEP_ONE, OL_ANY, ol_after(1, ol_ticks_from_ns(1000000)));
		if (in_step_is_over() && ol_cas_relaxed(&l->inside, IN_STEP_ONE, IN_STEP_EMPTY))
			return false;
	}
	return true;
}

static inline bool in_step_meet(ol_in_step_t *l)
{
	while (!in_step_is_over()) {
		uint32_t inside = ol_load_relaxed(&l->inside);

		if (inside == IN_STEP_EMPTY && ol_cas_acquire(&l->inside, inside, IN_STEP_ONE)) {
			in_step_seat = 0;
			return in_step_await_partner(l);
		}
		if (inside == IN_STEP_ONE) {
			if (!ol_cas_acquire(&l->inside, inside, IN_STEP_BOTH))
				continue;
			ol_add_relaxed(&in_step_meetings, 1u);
			ol_kick(&l->inside, OL_ANY, INT32_MAX);
			in_step_seat = 1;
			return true;
		}
		ol_yield();
	}
	return false;
}

static inline void ol_in_step_lock(ol_in_step_t *l)
{
	if (in_step_at || !in_step_meet(l))
		return;
	in_step_at = l;
	in_step_steps = 0;
	raise(SIGTRAP);
}

static inline void ol_in_step_unlock(ol_in_step_t *l)
{
	if (in_step_at != l)
		return;
	in_step_at = NULL;
	in_step_say(&l->turn, IN_STEP_OVER);
	if (ol_cas_acq_rel(&l->inside, IN_STEP_BOTH, IN_STEP_ONE_LEFT))
		return;
	ol_store_relaxed(&l->turn, 0u);
	ol_store_release(&l->inside, IN_STEP_EMPTY);
}

static inline bool ol_in_step_trylock(ol_in_step_t *l)
{
	(void)l;
	return true;
}

static inline bool ol_in_step_is_locked(const ol_in_step_t *l)
{
	return ol_load_relaxed(&l->inside) != IN_STEP_EMPTY;
}

static inline bool ol_in_step_is_contended(const ol_in_step_t *l)
{
	(void)l;
	return false;
}
