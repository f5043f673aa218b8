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

#ifndef OL_ABI
#define OL_ABI	0 /* of this header; the library says its own in ol_world->abi; lib/ABI.md */
#endif

/*
 * What locks.def may say of a lock: OL_TRAIT(name, bit, what). Append only. A lock with none of FIFO,
 * PATIENT, BOUNDED and LATE_FIFO lets anybody overtake, any number of times. NEEDS_ says what its text
 * asks of the platform layer beside atomics, relaxing and tunables; a test reads the text.
 */
#define OL_EACH_TRAIT									\
	OL_TRAIT(FITS4,		   0, "4 bytes, so it can be a kernel's spinlock")	\
	OL_TRAIT(FIFO,		   1, "grants in the order of arrival")			\
	OL_TRAIT(YIELDS,	   2, "may give the CPU away or sleep while it waits")	\
	OL_TRAIT(PRIVATE,	   3, "keeps process-private things: not for shared memory") \
	OL_TRAIT(ALONE,		   4, "its header needs no library")			\
	OL_TRAIT(PATIENT,	   5, "FIFO until somebody has waited too long")	\
	OL_TRAIT(BOUNDED,	   6, "a waiter is overtaken a bounded number of times") \
	OL_TRAIT(LATE_FIFO,	   7, "FIFO from when it queues, which may be late")	\
	OL_TRAIT(AVOIDS,	   8, "waits rather than hold when its slice is known to end") \
	OL_TRAIT(POLLS,		   9, "a waiter with a deadline stays outside the queue") \
	OL_TRAIT(NEEDS_ID,	  10, "ol_self()")					\
	OL_TRAIT(NEEDS_NODES,	  11, "ol_node_get()")					\
	OL_TRAIT(NEEDS_PARK,	  12, "ol_park()")					\
	OL_TRAIT(NEEDS_YIELD,	  13, "ol_yield(), ol_yield_to(), ol_yield_until()")	\
	OL_TRAIT(NEEDS_TIME,	  14, "ol_now(), ol_after()")				\
	OL_TRAIT(NEEDS_SLICE,	  15, "ol_slice_end(), ol_slice_min(), ol_slice_id()")	\
	OL_TRAIT(NEEDS_PREEMPTED, 16, "ol_is_preempted()")				\
	OL_TRAIT(NEEDS_ARRAY,	  17, "ol_wait_slot()")					\
	OL_TRAIT(NEEDS_RTM,	  18, "ol_htm_begin()")					\
	OL_TRAIT(ELIDES,	  19, "sections may run more than once, and end where they began") \
	OL_TRAIT(FORGIVES,	  20, "unlocking it while it is free changes nothing")	\
	OL_TRAIT(BY_CLOCK,	  21, "sleepers look again by the clock: a lost wake-up costs time only")

enum ol_trait {
#define OL_TRAIT(name, bit, what) OL_##name = 1 << (bit),
	OL_EACH_TRAIT
#undef OL_TRAIT
};

/*
 * `l` points to `size` bytes, aligned to `align`, all zero while the lock is free and unused.
 * lock, trylock and timedlock acquire; unlock releases; is_locked and is_contended are relaxed.
 *
 * For callers that do more about a wait, or a mistake, than the lock itself. Both answer as pthread
 * functions do, for which they may thus be tail calls:
 *
 *	take	acquires the free lock and returns 0, else returns 1; a lock that avoids the end of a
 *		time slice waits for the next one as ever
 *	release	unlocks, but leaves a free lock as it is; returns 0
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
	int (*take)(void *l);
	int (*release)(void *l);
};

#ifdef __cplusplus
extern "C" {
#endif
/* All locks, in the order of locks.def, ended by a null pointer. */
extern const struct ol_lock_ops *const *const ol_locks;

/* The lock of that name, or that had it (aliases.def); null if there is none. */
const struct ol_lock_ops *ol_find_lock(const char *id);

/*
 * Sets a tunable of tunables.def by name, from text: a number, or for times in ns also `inf`.
 * Returns null, or one line that says what was wrong; then nothing changed. Thread-safe; waiters
 * may finish their present wait with the old value, with two exceptions. Set `tau` to inf only while
 * nobody waits for a preemptable lock with a deadline: a waiter that then gives up leaves a gap in the queue
 * that only a timeout passes. Set what tunables.def calls `idle` (`long_term` and others) only while
 * nobody waits for a lock that reads it: a release would notify another slot than the waiter watches.
 */
const char *ol_set_tunable(const char *name, const char *value);

/* The tunable as ol_set_tunable() takes it, in `text` of `size` bytes; false if there is none. */
bool ol_get_tunable(const char *name, char *text, size_t size);

/* Ticks to and from ns; OL_NEVER is UINT64_MAX ns. */
uint64_t ol_ticks_from_ns(uint64_t ns);
uint64_t ol_ns_from_ticks(ol_ticks_t ticks);

/* What this machine's ticks, pauses and yields are, in ns, measured at the first call. */
struct ol_calibration {
	double tick_ns;	  /* length of a tick; to 4 parts per million if the process is 10 ms old */
	double relax_ns;  /* ol_relax() */
	double yield_ns;  /* sched_yield() with nobody to yield to: the least a switch costs */
	uint64_t took_ns; /* the calibration at start, which every program waits for */
	bool tsc;	  /* ticks are the time stamp counter's */
};
const struct ol_calibration *ol_calibration(void);

/*
 * Has `hook` called after each poll of a lock that is chosen at run time, and after each ol_yield(): a
 * waiter may then sleep for a while. `until` is when the lock must look again, or OL_NEVER; 0: very soon,
 * for it waits for another waiter, not for a release. Call it before any thread waits; null, the default,
 * for none.
 */
void ol_on_poll(void (*hook)(ol_ticks_t until));

/* Where this process may learn about its preemption: one list, ended by a null name. */
struct ol_source {
	const char *name, *knows;
	bool available; /* here, and chosen by OVERLOCK_KNOWLEDGE */
};
const struct ol_source *ol_sources(void);
#ifdef __cplusplus
}
#endif
#endif
