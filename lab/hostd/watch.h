/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_WATCH_H
#define MONITOR_WATCH_H
/* The BPF programs: loaded, tried, told which threads to watch. */
#include "thread.h"
#include "watched.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct slices_bpf;

/* How what is noted comes onto the page. */
enum way { WAY_DIRECT, WAY_COPY, WAYS };

struct how {
	enum way first, last;
	__u64 slice_ns; /* where the scheduler has no deadlines */
	__u64 shift;	/* the page's clock is ahead of the host's by this */
	bool full;	/* the page tells what depends on other threads, too */
};

struct watch {
	struct slices_bpf *programs;
	struct watched *records; /* one for each thread */
	size_t bytes;		 /* of all of them */
	enum way way;
	bool ticks;    /* it is known when the timer will tick */
	char why[256]; /* not an earlier one */
};

/*
 * Attaches the programs for so many threads, by the first way from `how->first` to `how->last` that works:
 * that is tried on a thread of our own. False: `why` says what was refused.
 */
bool watch_open(struct watch *watch, unsigned threads, const struct how *how);

/* From now on thread i is watched, and its entry, in our memory, written if that is the way. */
bool watch_thread(struct watch *watch, unsigned i, const struct thread *thread,
		  struct ol_slice_entry *entry);

/* Has thread i exited? Its entry is unknown then, for good. */
bool watch_gone(const struct watch *watch, unsigned i);

/* In words: how it is written, and by what the end of a slice is predicted. */
const char *watch_way(enum way way);
const char *watch_ending(const struct watch *watch);

/* Nothing is written any more. The records stay. */
void watch_detach(struct watch *watch);
void watch_close(struct watch *watch);
#endif
