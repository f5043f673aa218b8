/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_WATCHED_H
#define MONITOR_WATCHED_H
/* What overlock-hostd and overlock-monitord share with their BPF programs. */
#include "times.h"
#include <overlock/slice_page.h>

/* What the end of a slice is predicted by. */
enum ending {
	ENDING_UNSEEN,	  /* no slice was seen yet */
	ENDING_PROTECTED, /* EEVDF: until when the scheduler protects it (Linux 6.17) */
	ENDING_DEADLINE,  /* EEVDF: its deadline (Linux 6.6) */
	ENDING_ASSUMED,	  /* none of these: a slice of `slice_ns` */
	ENDING_KEPT,	  /* overlock-sched says it, and keeps it */
};

/* A thread to be watched: its record, and when it started, by which it differs from a later one. */
struct place {
	__u64 start; /* in ticks of the clock as /proc counts them */
	__u32 record;
	__u32 unused;
};

/* What is known of a thread's slice. */
struct slice {
	struct ol_slice_entry entry; /* as it is, or shall be, on the page */
	__u64 sure;		     /* whether or not the entry tells it */
	__u64 end_before;	     /* what was expected before the last tick, */
	__u64 renewed;		     /* which was then */
};

struct slice_counts {
	__u64 slices;  /* that began */
	__u64 taken;   /* that ended with the thread able to go on */
	__u64 left;    /* that the thread ended by itself: it slept */
	__u64 endless; /* taken though no end was in sight */
	__u64 broken;  /* taken before what was sure had passed */
	__u64 written; /* to the page, by the scheduler */
	__u64 refused;
	/* Of those taken: how much before the end predicted, or after. */
	__u64 early[PLACES], after[PLACES];
	__u64 length[PLACES]; /* of all slices */
};

/* overlock-hostd's record of a thread. */
struct watched {
	struct slice slice;
	struct slice_counts counts;
	__u64 gone; /* 1: the thread has exited */
};
#endif
