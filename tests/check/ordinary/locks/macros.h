/* SPDX-License-Identifier: MIT */
/* Macros, and GCC's builtins. */
#ifndef MACROS_H
#define MACROS_H

struct bit_lock {
	int taken;
};

#define BIT_LOCK(l)                                                        \
	do {                                                               \
	} while (__atomic_exchange_n(&(l)->taken, 1, __ATOMIC_ACQUIRE))
#define BIT_TRYLOCK(l)	(!__atomic_exchange_n(&(l)->taken, 1, __ATOMIC_ACQUIRE))
#define BIT_UNLOCK(l)	__atomic_store_n(&(l)->taken, 0, __ATOMIC_RELEASE)

#endif
