// SPDX-License-Identifier: MIT
// Locks whose waiters count their turns where no instruction says so, or in variables of their thread. -DLOCK=KIND picks
// the lock; -DFAULT: after some turns a waiter no longer waits.
#include <overlock/checked.h>

#include <stdatomic.h>

#define IN_ASSEMBLER __asm__ volatile
enum { assembler, function, threads, queue };
#define TURNS 5

struct node {
	_Atomic(struct node *) next;
	atomic_bool waits;
};
struct lock {
	atomic_int word;
	_Atomic(struct node *) tail;
};

static int turns;
static _Thread_local int own_turns = 1;
static _Thread_local struct node mine;

__attribute__((no_sanitize("thread"), noinline)) static int count_unseen(void)
{
	return ++turns;
}

static int counted(void)
{
	int n = 0;

	switch (LOCK) {
	case assembler:
		IN_ASSEMBLER("incl %0" : "+m"(turns));
		IN_ASSEMBLER("movl %1, %0" : "=r"(n) : "m"(turns));
		return n;
	case function:
		return count_unseen();
	default:
		return ++own_turns;
	}
}

static void wait_in_line(struct lock *l)
{
	atomic_store_explicit(&mine.next, 0, memory_order_relaxed);
	atomic_store_explicit(&mine.waits, true, memory_order_relaxed);
	struct node *before = atomic_exchange(&l->tail, &mine);
	if (!before)
		return;
	atomic_store_explicit(&before->next, &mine, memory_order_release);
	while (atomic_load_explicit(&mine.waits, memory_order_acquire))
		;
}

static void leave_line(struct lock *l)
{
	struct node *next = atomic_load_explicit(&mine.next, memory_order_acquire), *me = &mine;

	if (!next) {
		if (atomic_compare_exchange_strong(&l->tail, &me, 0))
			return;
		while (!(next = atomic_load_explicit(&mine.next, memory_order_acquire)))
			;
	}
	atomic_store_explicit(&next->waits, false, memory_order_release);
}

static void lock(void *o)
{
	struct lock *l = o;

	if (LOCK == queue)
		return wait_in_line(l);
	while (atomic_exchange(&l->word, 1)) {
#ifdef FAULT
		if (counted() >= TURNS)
			return;
#else
		counted();
#endif
	}
}

static void unlock(void *o)
{
	struct lock *l = o;

	if (LOCK == queue)
		return leave_line(l);
	atomic_store(&l->word, 0);
}

const struct ol_checked_lock overlock_checked = {
	.name = "hidden",
	.size = sizeof(struct lock),
	.lock = lock,
	.unlock = unlock,
};
