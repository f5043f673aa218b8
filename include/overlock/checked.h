/* SPDX-License-Identifier: MIT */
#ifndef OVERLOCK_CHECKED_H
#define OVERLOCK_CHECKED_H
/*
 * For `overlock check FILE.c`: what a file says of a lock that is not ours, and what it may ask of the
 * checker. docs/checking-other-locks.md explains both.
 *
 * The lock's own text needs nothing of this. The compiler instruments each of its accesses
 * (-fsanitize=thread): C11's and C++'s atomics, GCC's __atomic_ and __sync_ builtins, plain loads and stores.
 */
#ifdef __cplusplus
#include <unistd.h>
extern "C" {
#else
#include <stdbool.h>
#endif
#include <stdint.h>

/*
 * What is checked. `o` is an object of `size` bytes in checked memory, all zero before init. What the lock
 * does not have is null.
 */
struct ol_checked_lock {
	const char *name; /* with its version */
	unsigned size;
	void (*init)(void *o); /* before the contexts begin */

	void (*lock)(void *o);
	void (*unlock)(void *o);
	bool (*trylock)(void *o);
	void (*read_lock)(void *o);
	void (*read_unlock)(void *o);

	void (*wait)(
		void *o); /* a condition variable, with lock and unlock; both are in the object */
	void (*signal)(void *o);
	void (*broadcast)(void *o);

	void (*down)(void *o); /* a semaphore, 0 after init */
	void (*up)(void *o);

	bool by_clock; /* its sleepers look again by the clock: a lost wake-up costs time only */
	bool fifo; /* it grants in the order of arrival: one that stops in its queue stops the others */
};
extern const struct ol_checked_lock overlock_checked;

/* Who calls: 1, 2 ... ; 0 outside of all contexts. */
unsigned ol_checked_self(void);

/*
 * A turn of a loop that waits: the context goes on when a word that it has read since its last such turn has
 * changed. A loop of ol_checked_spin() may give up: it also goes on when the adversary spends from `expiry`,
 * and when no context can run. What the compiler sees of `pause` becomes ol_checked_spin().
 */
void ol_checked_spin(void);
void ol_checked_spin_endlessly(void);

/*
 * Linux's futex on a 32-bit word. They return what the system call does, and -errno on failure.
 * A wait may return 0 for no reason (budget `spurious`), and times out (budget `expiry`) if `timed`.
 * FUTEX_WAKE wakes any of the waiters, not the first.
 */
int ol_checked_futex_wait(const volatile void *word, unsigned value, unsigned bits, bool timed);
int ol_checked_futex_wake(const volatile void *word, int wakes, unsigned bits);
int ol_checked_futex_requeue(const volatile void *from, int wakes, const volatile void *to,
			     int moves, const unsigned *value);
/*
 * System calls by number. syscall() itself is answered too, by the first: -1, and why in the caller's errno. The
 * other returns -errno, as the kernel does, for code that makes the instruction itself.
 */
long ol_checked_syscall(long number, ...);
long ol_checked_raw_syscall(long number, ...);

/* The execution is wrong. */
void ol_checked_fail(const char *why) __attribute__((noreturn));
void ol_checked_assert_fail(const char *expression, const char *file, unsigned line,
			    const char *function) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
#endif
