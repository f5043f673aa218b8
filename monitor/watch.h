/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_WATCH_H
#define MONITOR_WATCH_H
/* The BPF programs: loaded, tried, told which threads to watch. */
#include "watched.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct slices_bpf;

/* How what is noted comes onto the page. */
enum way { WAY_DIRECT, WAY_COPY, WAYS };

struct watch {
	struct slices_bpf *programs;
	struct watched *records; /* one for each thread */
	size_t bytes;		 /* of all of them */
	enum way way;
	bool ticks;    /* it is known when the timer will tick */
	char why[256]; /* not an earlier one */
};

/*
 * Attaches the programs for so many threads, by the first way from `first` to `last` that works: that is
 * tried on a thread of our own. False: `why` says what was refused.
 */
bool watch_open(struct watch *watch, enum way first, enum way last, unsigned threads,
		__u64 slice_ns);

/* From now on thread i is watched, and its entry, in our memory, written if that is the way. */
bool watch_thread(struct watch *watch, unsigned i, pid_t thread, struct ol_slice_entry *entry);

/* In words: how it is written, and by what the end of a slice is predicted. */
const char *watch_way(enum way way);
const char *watch_ending(const struct watch *watch);

/* Nothing is written any more. The records stay. */
void watch_detach(struct watch *watch);
void watch_close(struct watch *watch);
#endif
