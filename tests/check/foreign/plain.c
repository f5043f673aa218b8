// SPDX-License-Identifier: MIT
// Locks that use plain variables, their own stacks and a variable of the file; and what can be wrong.
#include <overlock/checked.h>

enum { none, lacks_fence, leaves_stack, counts_on };
#ifndef MUTANT
#define MUTANT none
#endif
#define IS(mutant)	(MUTANT == (mutant))

struct waiter {
	int granted;
	struct waiter *next;
};

struct queue {
	struct waiter *tail;
	struct waiter *holder;
};

#ifndef MOST
#define MOST 0
#endif
static int acquisitions;

/* MCS, its nodes on the stacks of the waiters; the holder's is in the lock once it has it. */
static void lock(void *o)
{
	struct queue *q = o;
	struct waiter me = { 0, 0 }, *before;

	before = __atomic_exchange_n(&q->tail, &me, __ATOMIC_ACQ_REL);
	if (before) {
		__atomic_store_n(&before->next, &me, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&me.granted, __ATOMIC_ACQUIRE))
			ol_checked_spin_endlessly();
	}
	if (IS(leaves_stack)) {
		q->holder = &me;
		return;
	}
	/* As the K42 lock does: the lock itself stands for the holder's node. */
	struct waiter *next = __atomic_load_n(&me.next, __ATOMIC_ACQUIRE);
	if (!next) {
		struct waiter *self = &me;
		q->holder = 0;
		if (__atomic_compare_exchange_n(&q->tail, &self, (struct waiter *)q, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			goto done;
		while (!(next = __atomic_load_n(&me.next, __ATOMIC_ACQUIRE)))
			ol_checked_spin_endlessly();
	}
	q->holder = next;
done:
	if (IS(counts_on) && ol_checked_self() && ++acquisitions > MOST)
		ol_checked_fail("the variable was not put back");
}

static void unlock(void *o)
{
	struct queue *q = o;
	struct waiter *next = __atomic_load_n(&q->holder, __ATOMIC_ACQUIRE),
		      *self = (struct waiter *)q;

	if (IS(leaves_stack)) {
		struct waiter *mine = q->holder;
		self = mine;
		if (__atomic_compare_exchange_n(&q->tail, &self, 0, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
		while (!(next = __atomic_load_n(&mine->next, __ATOMIC_ACQUIRE)))
			ol_checked_spin_endlessly();
	} else if (!next) {
		if (__atomic_compare_exchange_n(&q->tail, &self, 0, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
		while (!(next = __atomic_load_n(&q->holder, __ATOMIC_ACQUIRE)))
			ol_checked_spin_endlessly();
	}
	__atomic_store_n(&next->granted, 1, __ATOMIC_RELEASE);
}

/* Peterson's lock for two, by plain stores; under TSO and C11 it needs its fence. */
struct peterson {
	int wants[2];
	int turn;
};

static void peterson_lock(void *o)
{
	struct peterson *p = o;
	int me = (int)ol_checked_self() == 2;

	p->wants[me] = 1;
	p->turn = !me;
	if (!IS(lacks_fence))
		__sync_synchronize();
	while (__atomic_load_n(&p->wants[!me], __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&p->turn, __ATOMIC_ACQUIRE) == !me)
		__builtin_ia32_pause();
}

static void peterson_unlock(void *o)
{
	struct peterson *p = o;

	__atomic_store_n(&p->wants[(int)ol_checked_self() == 2], 0, __ATOMIC_RELEASE);
}

#ifndef LAST
#define LAST 0
#endif
/* Waits by looking at two words in turn, and the last thing that it does is a store on its stack. */
struct pair {
	int held;
	int closed;
};

static void pair_lock(void *o)
{
	struct pair *p = o;

	for (;;) {
		if (__atomic_load_n(&p->closed, __ATOMIC_ACQUIRE))
			continue;
		if (__atomic_load_n(&p->held, __ATOMIC_RELAXED))
			continue;
		if (!__atomic_exchange_n(&p->held, 1, __ATOMIC_ACQUIRE))
			return;
	}
}

static __attribute__((noinline)) void store_last(void)
{
	long mine[64];

	__asm__ volatile("" ::"r"(mine) : "memory");
	mine[LAST] = 0;
	__asm__ volatile("" ::: "memory");
}

static void pair_unlock(void *o)
{
	struct pair *p = o;

	__atomic_store_n(&p->held, 0, __ATOMIC_RELEASE);
	store_last();
}

const struct ol_checked_lock overlock_checked = {
	.name = "plain",
#ifdef PAIR
	.size = sizeof(struct pair),
	.lock = pair_lock,
	.unlock = pair_unlock,
#elif defined PETERSON
	.size = sizeof(struct peterson),
	.lock = peterson_lock,
	.unlock = peterson_unlock,
#else
	.size = sizeof(struct queue),
	.lock = lock,
	.unlock = unlock,
#endif
};
