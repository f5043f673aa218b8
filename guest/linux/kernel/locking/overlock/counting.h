/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OVERLOCK_COUNTING_H
#define OVERLOCK_COUNTING_H
/*
 * What a counting kernel counts of every lock, beside what the locks count themselves: how often a
 * holder (Ouyang & Lange 2013: Nh, Teabe et al. 2017: LHP) or a waiter (Nw, LWP) had lost its CPU,
 * and the times.
 */
#include <linux/types.h>

struct seq_file;

#ifdef CONFIG_OVERLOCK_COUNT

/* An acquisition by lock(), on the caller's stack. */
struct overlock_wait {
	struct overlock_wait *outer; /* of what this one has interrupted */
	const void *lock;
	u64 since, looked; /* when it began, and polled last */
	u64 slice;
	u64 asleep;
	bool polled, lost; /* lost: its CPU, while it waited */
	u8 stalled;
};

void overlock_wait_begin(struct overlock_wait *w, const void *lock);
void overlock_wait_end(struct overlock_wait *w);
void overlock_tried(const void *lock, bool taken);
void overlock_let_go(const void *lock);

/* A sleep that the waiter asked for is nothing that was taken from it. */
void overlock_sleeps(void);
void overlock_woke(void);

void overlock_tell_times(struct seq_file *out);
void overlock_forget_times(void);

#else

struct overlock_wait {
};

static inline void overlock_wait_begin(struct overlock_wait *w, const void *lock)
{
}

static inline void overlock_wait_end(struct overlock_wait *w)
{
}

static inline void overlock_tried(const void *lock, bool taken)
{
}

static inline void overlock_let_go(const void *lock)
{
}

static inline void overlock_sleeps(void)
{
}

static inline void overlock_woke(void)
{
}

#endif /* CONFIG_OVERLOCK_COUNT */
#endif
