/* SPDX-License-Identifier: MIT */
#ifndef OL_SITE_H
#define OL_SITE_H
/*
 * The site record: what happened where. One per (call site, lock algorithm), kept per thread and
 * summed on reading; shared by bench, run and the profiler. Counted build only.
 */
#include <overlock/ops.h>

/* Histogram of times, two buckets per power of two of ns; the last takes all that is longer. */
#define OL_BUCKETS	96

/* The least time, in ns, that bucket `i` holds. */
static inline uint64_t ol_bucket_least(unsigned i)
{
	return i < 2 ? i : (uint64_t)(2 + i % 2) << (i / 2 - 1);
}

struct ol_site_record {
	const void *site; /* address of the call, or what ol_at_site() was told */
	const struct ol_lock_ops *lock;
	uint64_t events[OL_EVENTS];
	uint64_t places[OL_EVENTS][OL_PLACES]; /* of those that have one */
	uint64_t wait_ns, spin_ns; /* of who found the lock taken; spin: without what it slept */
	/* Only while times are kept: */
	uint64_t hold_ns, handover_ns;
	uint64_t wait[OL_BUCKETS], hold[OL_BUCKETS];
};

#ifdef __cplusplus
extern "C" {
#endif
/* This thread's next acquisition is made on behalf of `site`, not of the caller of the lock. */
void ol_at_site(const void *site);

/*
 * Keeps times as well: how long locks are held, how long a hand-over takes, and the histograms of
 * waits and holds. That costs two looks at the clock per acquisition. OVERLOCK_HISTOGRAMS=1 starts
 * with it.
 */
void ol_sites_keep_times(bool keep);
bool ol_sites_times_kept(void);

/* Whether this machine tells of preemption; if not, LHP and LWP are unknown and not 0. */
bool ol_sites_know_slices(void);

/*
 * Calls `each` for every site, busiest first, with the sums over all threads, living and gone.
 * Safe while others count; what they count meanwhile may be missing. Not in signal handlers.
 * Returns 0, or ENOMEM and calls nobody.
 */
int ol_sites_read(void (*each)(const struct ol_site_record *record, void *arg), void *arg);

/*
 * Acquisitions and events that could not be recorded: in a signal handler that interrupted the
 * recording itself, in a thread all but gone, or for want of memory.
 */
uint64_t ol_sites_missed(void);

/*
 * From now on every wait for a lock is looked at by the thread that waits, first when it has lasted for
 * `first` ticks. `look` is told when it began, and answers when it will look again: never, if so, but in
 * the next wait. It is called at any poll, before each sleep, and once woken for it; it must take no
 * lock and allocate nothing that locks. Before threads wait.
 */
void ol_sites_watch(ol_ticks_t first, ol_ticks_t (*look)(ol_ticks_t began));

/* What was seen of the waits and holds that have one stack; others add to it at the same time. */
struct ol_stack {
	uint64_t waits, wait_ns;
	uint64_t holds, hold_ns; /* only while times are kept */
};

/*
 * From now on `take` notes the stack of the thread that calls it, for the call at `site`, and answers
 * where what is seen there is added up, for good; null if it cannot. It is asked in waits that have
 * lasted for `first` ticks, or that are about to sleep, and by ol_sites_take_for_hold(); of each thread
 * for a 50th of its time at most. What holds for `look` above holds for it. Before threads wait.
 */
void ol_sites_take_stacks(ol_ticks_t first, struct ol_stack *(*take)(const void *site));

/* This thread's next acquisition is a hold whose stack is taken, now, if it is time for one. */
void ol_sites_take_for_hold(const void *site);

/* Where the call is that acquired the lock, for the thread that has it; null if nobody is known to. */
const void *ol_sites_holder(const void *lock);

/* Forgets everything counted so far; only while no thread is inside a lock operation. */
void ol_sites_reset(void);

/*
 * With OVERLOCK_LIVE=FOLDER in its environment every program keeps its records in a file there,
 * named PID.N, where others may read them while it runs and afterwards. After a block whose first
 * letter is `s` if slices are known, the second `r` once the program has written its last report,
 * which has at OL_LIVE_SPACE the number of the PID namespace that PID is of (0: unknown), and
 * its /proc/self/maps from OL_LIVE_MAPS on, as of its start and as far as there is space,
 * come blocks of OL_LIVE_BLOCK bytes: a word in native order that
 * says how much of the block is in use, at OL_LIVE_USED, and from OL_LIVE_FIRST on records,
 * OL_LIVE_RECORD bytes each. Counters only grow; a record without a site is not complete.
 */
#define OL_LIVE_BLOCK	(64u << 10)
#define OL_LIVE_SPACE	8
#define OL_LIVE_MAPS	64
#define OL_LIVE_USED	(2 * sizeof(void *))
#define OL_LIVE_FIRST	(3 * sizeof(void *))
#define OL_LIVE_RECORD	((sizeof(struct ol_site_record) + sizeof(void *) + 15) / 16 * 16)

/* The program's last report is written: nobody needs to make one of its records. */
void ol_sites_reported(void);

/*
 * Who knows more names than the dynamic symbols tell: what `name` answers for a call's address, until
 * it is asked again, is written as the call's function; null where it does not know either.
 */
void ol_sites_name_by(const char *(*name)(const void *site));

/* Writes all records to `fd` as one JSON object (docs/reference/counters-json.md); 0, or an errno. */
int ol_sites_write(int fd);
#ifdef __cplusplus
}
#endif
#endif
