/* SPDX-License-Identifier: MIT */
/* A lock that never sleeps where few contexts are: "reached" and "not reached" say what must be found. */
#include <overlock/checked.h>

struct naps {
	unsigned word, tired;
};

static inline void nap(struct naps *l)
{
	if (__atomic_load_n(&l->word, __ATOMIC_RELAXED))	/* not reached */
		ol_checked_futex_wait(&l->word, 1, ~0u, false); /* not reached */
	l->tired++;						/* not reached */
}

static inline bool take(struct naps *l)
{
	return !__atomic_exchange_n(&l->word, 1, __ATOMIC_ACQUIRE); /* reached */
}

static __attribute__((noinline)) void rest(struct naps *l)
{
	unsigned left = 100; /* not reached */

	while (left--)		   /* not reached */
		ol_checked_spin(); /* not reached */
	nap(l);			   /* not reached */
}

static __attribute__((noinline)) void slow(struct naps *l)
{
	while (!take(l)) {	      /* reached */
		if (l->tired > 100) { /* reached */
			nap(l);	      /* not reached */
			rest(l);      /* not reached */
		}
		ol_checked_spin(); /* reached */
	}
}

static void lock(void *o)
{
	if (!take(o))	 /* reached */
		slow(o); /* reached */
}

static void unlock(void *o)
{
	struct naps *l = o; /* reached */

	l->tired = 0;					 /* reached */
	__atomic_store_n(&l->word, 0, __ATOMIC_RELEASE); /* reached */
}

/* Readers exclude each other, too. */
static void naps_read_lock(void *o)
{
	lock(o); /* read */
}

const struct ol_checked_lock overlock_checked = {
	.name = "naps",
	.size = sizeof(struct naps),
	.lock = lock,
	.unlock = unlock,
	.read_lock = naps_read_lock,
	.read_unlock = unlock,
};
