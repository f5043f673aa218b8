/* SPDX-License-Identifier: MIT */
/*
 * Hardware lock elision: a test-and-set lock whose exchange and store tell the processor, by a prefix,
 * that it may leave them out and run what is between them as a transaction. What fails is run again
 * with the lock taken. Processors without HLE ignore the prefixes.
 */
#include "lock.h"
#include <stdint.h>

static uint32_t hle_exchange(uint32_t *l)
{
	uint32_t old = 1;

	__asm__ __volatile__(".byte 0xf2 ; xchgl %0, %1"
			     : "+r"(old), "+m"(*l)::"memory"); /* XACQUIRE */
	return old;
}

/* PAUSE also ends the transaction of an exchange that found the lock taken. */
static void hle_lock(uint32_t *l)
{
	while (hle_exchange(l))
		do
			__builtin_ia32_pause();
		while (__atomic_load_n(l, __ATOMIC_RELAXED));
}

/* Without the prefix: a caller that fails has to do something else, which must not be in a transaction. */
static bool hle_trylock(uint32_t *l)
{
	return !__atomic_load_n(l, __ATOMIC_RELAXED) &&
	       !__atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE);
}

static void hle_unlock(uint32_t *l)
{
	__asm__ __volatile__(".byte 0xf3 ; movl $0, %0" : "=m"(*l)::"memory"); /* XRELEASE */
}

PEER_LOCK(hle, uint32_t, *l = 0, hle_lock(l), hle_trylock(l), hle_unlock(l))

#include "table.h"
