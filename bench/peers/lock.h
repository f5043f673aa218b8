/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PEERS_LOCK_H
#define BENCH_PEERS_LOCK_H
/*
 * A peer as table.h wants it: PEER_LOCK(id, type, init, lock, trylock, unlock), where the last four
 * are expressions on `l`, which points to a `type`, and trylock's is true if it acquired.
 */
#include <stdbool.h>

#define PEER_LOCK(id, type, init, lock, trylock, unlock)	\
	typedef type id##_type;					\
	static void id##_do_init(void *lock_)			\
	{							\
		type *l = (type *)lock_;			\
		init;					\
	}							\
	static void id##_do_lock(void *lock_)			\
	{							\
		type *l = (type *)lock_;			\
		lock;						\
	}							\
	static bool id##_do_trylock(void *lock_)		\
	{							\
		type *l = (type *)lock_;			\
		return trylock;					\
	}							\
	static void id##_do_unlock(void *lock_)			\
	{							\
		type *l = (type *)lock_;			\
		unlock;						\
	}

/* The same if the functions are in another language; the file defines id_type. */
#define PEER_FUNCTIONS(id)		\
	void id##_do_init(void *l);	\
	void id##_do_lock(void *l);	\
	bool id##_do_trylock(void *l);	\
	void id##_do_unlock(void *l);
#endif
