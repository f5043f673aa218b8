/* SPDX-License-Identifier: MIT */
#ifndef OL_RECORDER_H
#define OL_RECORDER_H
/*
 * The library of `overlock run --record`. Calls go on to glibc, or to the library of `overlock run` if that is loaded
 * after it. What lies between two calls of a thread is told from what the calls themselves take.
 *
 * A thread reads its CPU time only when it has been away for long: until then it cannot have lost much. What
 * has been lost since the last look belongs to the stretch that was long.
 */
#include "record.h"

#include <pthread.h>
#include <stdbool.h>
#include <threads.h>
#include <time.h>

struct record_real {
#define REAL(type, name, version, parameters) type (*name) parameters;
#include "../real.def"
#undef REAL
};
extern struct record_real ol_record_real;

/* Whether every call only goes on. False before the start. */
extern bool ol_record_idle;

/* A call under way. */
struct record_call {
	struct record_lock *lock; /* null: nothing is recorded */
	const void *caller;
	uint64_t asked; /* ticks */
	uint16_t whom;
};

/* Starts the library, if nobody has. */
void ol_record_begin(void);

/* A thread asks for a lock. */
struct record_call ol_record_ask(const volatile void *lock, enum record_class class,
				 const void *caller);

/* The call has ended, as RECORD_acquire, RECORD_read or RECORD_fail. */
void ol_record_answer(struct record_call *c, enum record_kind kind);

/* Before a lock is released, as RECORD_release or RECORD_wait; and afterwards. */
struct record_call ol_record_release(const volatile void *lock, enum record_class class,
				     const void *caller);
void ol_record_released(struct record_call *c, enum record_kind kind);

/* The wait for a condition is over: the mutex is ours again. */
void ol_record_woken(const volatile void *lock, const void *caller);
#endif
