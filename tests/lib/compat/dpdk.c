/* SPDX-License-Identifier: MIT */
/* A program with DPDK's locks: compiled with DPDK's headers, and with ours before them. */
#include <rte_spinlock.h>
#include <rte_ticketlock.h>
#include <rte_mcslock.h>
#include <rte_rwlock.h>

#include "sections.h"

static rte_spinlock_t spin = RTE_SPINLOCK_INITIALIZER;
static rte_spinlock_t tm = RTE_SPINLOCK_INITIALIZER;
static rte_spinlock_recursive_t spin_again = RTE_SPINLOCK_RECURSIVE_INITIALIZER;
static rte_spinlock_recursive_t tm_again = RTE_SPINLOCK_RECURSIVE_INITIALIZER;
static rte_ticketlock_t ticket = RTE_TICKETLOCK_INITIALIZER;
static rte_ticketlock_recursive_t ticket_again = RTE_TICKETLOCK_RECURSIVE_INITIALIZER;
static rte_mcslock_t *mcs;
static __thread rte_mcslock_t node;

CALLS(spin, rte_spinlock_lock(&spin), rte_spinlock_trylock(&spin), rte_spinlock_unlock(&spin),
      rte_spinlock_is_locked(&spin))
CALLS(tm, rte_spinlock_lock_tm(&tm), rte_spinlock_trylock_tm(&tm), rte_spinlock_unlock_tm(&tm),
      rte_spinlock_is_locked(&tm))
CALLS(spin_again, rte_spinlock_recursive_lock(&spin_again),
      rte_spinlock_recursive_trylock(&spin_again), rte_spinlock_recursive_unlock(&spin_again),
      rte_spinlock_is_locked(&spin_again.sl))
CALLS(tm_again, rte_spinlock_recursive_lock_tm(&tm_again),
      rte_spinlock_recursive_trylock_tm(&tm_again), rte_spinlock_recursive_unlock_tm(&tm_again),
      rte_spinlock_is_locked(&tm_again.sl))
CALLS(ticket, rte_ticketlock_lock(&ticket), rte_ticketlock_trylock(&ticket),
      rte_ticketlock_unlock(&ticket), rte_ticketlock_is_locked(&ticket))
CALLS(ticket_again, rte_ticketlock_recursive_lock(&ticket_again),
      rte_ticketlock_recursive_trylock(&ticket_again),
      rte_ticketlock_recursive_unlock(&ticket_again), rte_ticketlock_is_locked(&ticket_again.tl))
CALLS(mcs, rte_mcslock_lock(&mcs, &node), rte_mcslock_trylock(&mcs, &node),
      rte_mcslock_unlock(&mcs, &node), rte_mcslock_is_locked(mcs))

static const struct kind kinds[] = {
	KIND(spin, true), KIND(spin_again, false), KIND(ticket, true),	  KIND(ticket_again, false),
	KIND(mcs, false), KIND(tm, true),	   KIND(tm_again, false),
};

/* In a transaction a lock is not held, and DPDK's trylock_tm waits for one that is: ours has none. */
static size_t judged(void)
{
	return sizeof(kinds) / sizeof(*kinds) - (rte_tm_supported() ? 2 : 0);
}

/* Another thread that acquires, waits until the first one has looked, and releases. */
static pthread_barrier_t step;

static void *hold(void *given)
{
	const struct kind *k = (const struct kind *)given;

	k->lock();
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	k->unlock();
	return given;
}

static void nests(const struct kind *k)
{
	pthread_t other;

	k->lock();
	EXPECT(k->trylock());
	EXPECT(k->trylock());
	k->lock();
	for (int left = 3; left; left--) {
		k->unlock();
		EXPECT(k->locked());
		EXPECT(!elsewhere(call_trylock, k));
	}
	k->unlock();
	EXPECT(!k->locked());

	/* Having owned it once is no right to it. */
	pthread_barrier_init(&step, 0, 2);
	other = start(hold, k);
	pthread_barrier_wait(&step);
	EXPECT(!k->trylock());
	pthread_barrier_wait(&step);
	pthread_join(other, 0);
}

/* As in memory that was used for something else. */
#define INITIALISES(kind, used)					\
	do {							\
		memset(&(used), 0xff, sizeof(used));		\
		rte_##kind##_init(&(used));			\
		EXPECT(rte_##kind##_trylock(&(used)));		\
		rte_##kind##_unlock(&(used));			\
	} while (0)

int main(int argc, char **argv)
{
	rte_spinlock_t used_spin;
	rte_spinlock_recursive_t used_again;
	rte_ticketlock_t used_ticket;
	rte_ticketlock_recursive_t used_ticket_again;

	(void)argc;
	begin(argv);
	INITIALISES(spinlock, used_spin);
	INITIALISES(spinlock_recursive, used_again);
	INITIALISES(ticketlock, used_ticket);
	INITIALISES(ticketlock_recursive, used_ticket_again);
	EXPECT(sizeof(rte_spinlock_t) == 4 && sizeof(rte_spinlock_recursive_t) == 12);
	EXPECT(sizeof(rte_ticketlock_t) == 4 && sizeof(rte_ticketlock_recursive_t) == 12);
	for (size_t i = 0; i < judged(); i++)
		if (strstr(kinds[i].name, "again"))
			nests(&kinds[i]);
	judge(kinds, judged(), argv);
	return 0;
}
