// SPDX-License-Identifier: MIT
// The reciprocating lock of Dice and Kogan, as Arm's Progress64 has it. Each context has a node of its own.
// brings: src/p64_rplock.c include/p64_rplock.h
#include <overlock/checked.h>

#include <assert.h>
#include <stddef.h>

#define VERIFY_ASSERT(x)	assert(x)
#define regular_load_n(p)	(*(p))
#define regular_store_n(p, v)	(*(p) = (v))
#define atomic_load_ptr		__atomic_load_n
#define atomic_store_n		__atomic_store_n
#define atomic_store_ptr	__atomic_store_n
#define atomic_exchange_ptr	__atomic_exchange_n
#define atomic_compare_exchange_ptr(p, old, v, order, failing)			\
	__atomic_compare_exchange_n((p), (old), (v), 0, (order), (failing))
#define wait_until_not_equal_ptr(p, v, order)					\
	({									\
		__typeof__(*(p)) ol_found;					\
		while ((ol_found = __atomic_load_n((p), (order))) == (v))	\
			ol_checked_spin_endlessly();				\
		ol_found;							\
	})
#include "p64_rplock.h"
#include "p64_rplock.c"

static p64_rpnode_t nodes[16];

static void lock(void *o)
{
	p64_rplock_acquire(o, &nodes[ol_checked_self()]);
}

static bool try_to_lock(void *o)
{
	return p64_rplock_try_acquire(o, &nodes[ol_checked_self()]);
}

static void release(void *o)
{
	p64_rplock_release(o, &nodes[ol_checked_self()]);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Progress64 reciprocating lock",
	.size = sizeof(p64_rplock_t),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
