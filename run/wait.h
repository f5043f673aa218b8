/* SPDX-License-Identifier: MIT */
#ifndef OL_WAIT_H
#define OL_WAIT_H
#include <overlock/ops.h>

#include <pthread.h>

struct mutex;
struct bucket;
struct ol_call;

/* An acquisition that did not succeed at once, on the stack of its thread. */
struct wait {
	struct wait *outer;  /* what a signal handler that waits has interrupted, or null */
	struct mutex *mutex; /* null: nobody wakes us */
	const struct ol_lock_ops *ops;
	ol_ticks_t began, until;
	ol_ticks_t due;		  /* when a decision is due: to sleep, or to look at our policy */
	struct wait *prev, *next; /* in the list; with `listed`, by the bucket's mutex */
	uint32_t state;		  /* a futex */
	uint32_t listed;	  /* in the list, in that epoch */
	uint32_t epoch;
	unsigned relays; /* how many more may be woken if we were in vain */
	unsigned
		priority; /* real-time and not in the lock's queue: then it is handed to the highest; else 0 */
	bool granted; /* by the bucket's mutex, as `listed` */
	bool looked, slept, competes, is_realtime;
	struct _pthread_cleanup_buffer cleanup; /* glibc's: for who jumps out of the wait */
	struct ol_call *counted;		/* the call under way before, where it counts */
};

/* Whether a release shall look for sleepers; by waiters, one at a time. */
void ol_run_gate_set_sleepers(struct mutex *m, bool any);
#endif
