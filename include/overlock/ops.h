/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_OPS_H
#define OL_OPS_H
/*
 * A lock chosen by name at run time, and what can be asked of the library about it.
 *
 * For programs that know their lock when they are compiled, include <overlock/overlock.h> instead:
 * these calls cost an indirect branch.
 */
#include <overlock/port.h>

#define OL_ABI		0	/* of this header; the library says its own in ol_world->abi */

enum ol_trait {
	OL_FITS4 = 1 << 0,
	OL_FIFO = 1 << 1,
	OL_YIELDS = 1 << 2,
	OL_PRIVATE = 1 << 3,
	OL_ALONE = 1 << 4,
};

/*
 * `l` points to `size` bytes, aligned to `align`, all zero while the lock is free and unused.
 * lock, trylock and timedlock acquire; unlock releases; is_locked and is_contended are relaxed.
 */
struct ol_lock_ops {
	const char *id, *source, *what;
	uint32_t abi, size, align, traits;
	void (*lock)(void *l);
	bool (*trylock)(void *l);
	bool (*timedlock)(void *l, ol_ticks_t until); /* null if the lock cannot give up */
	void (*unlock)(void *l);
	bool (*is_locked)(const void *l);
	bool (*is_contended)(const void *l);
};

#ifdef __cplusplus
extern "C" {
#endif
/* All locks, in the order of locks.def, ended by a null pointer. */
extern const struct ol_lock_ops *const ol_locks[];

/* The lock of that name; null if there is none. */
const struct ol_lock_ops *ol_find_lock(const char *id);

/*
 * Sets a tunable of tunables.def by name, from text: a number, or for times in ns also `inf`.
 * Returns null, or one line that says what was wrong; then nothing changed. Thread-safe; waiters
 * may finish their present wait with the old value.
 */
const char *ol_set_tunable(const char *name, const char *value);

/* The tunable as ol_set_tunable() takes it, in `text` of `size` bytes; false if there is none. */
bool ol_get_tunable(const char *name, char *text, size_t size);

/* Ticks to and from ns; OL_NEVER is UINT64_MAX ns. */
uint64_t ol_ticks_from_ns(uint64_t ns);
uint64_t ol_ns_from_ticks(ol_ticks_t ticks);

/* What was measured at start, in ns. */
struct ol_calibration {
	double tick_ns;	  /* length of a tick */
	double relax_ns;  /* ol_relax() */
	double yield_ns;  /* sched_yield() with nobody to yield to: the least a switch costs */
	uint64_t took_ns; /* the calibration itself */
	bool tsc;	  /* ticks are the time stamp counter's */
};
const struct ol_calibration *ol_calibration(void);
#ifdef __cplusplus
}
#endif
#endif
