/* SPDX-License-Identifier: MIT */
#ifndef BENCH_METER_H
#define BENCH_METER_H
/*
 * What a context notes of its own turns: its longest gap between releases, and a sample of its
 * acquisitions.
 *
 * Samples are drawn at random, never at a fixed stride: whatever a lock does at every n-th call would
 * else be seen always or never. The number of acquisitions until the next sample is geometric. Its
 * mean follows the pace of the context, and a sample weighs the mean it was drawn with, so that the
 * weighted distribution is that of all acquisitions. A geometric number has no memory: the mean may
 * change, and the number be drawn anew, at any time that depends on the past only.
 *
 * What others read of it is relaxed: each word means something by itself, and one seen late costs a
 * sample. Only `n` is a release, for the samples before it.
 */
#include <overlock/port.h>

struct workload_lock;

/*
 * On a line of its own: on the lock's, a stamp before each release would take it from the waiters that spin
 * there, and cost the locks where they do more than others. So a holder stamps only while a sampled
 * waiter asks for it; else it reads a line that no thread writes. Both are relaxed: `asked` seen late
 * leaves one sample without its hand-over, and the lock itself orders the stamp before the next owner.
 */
struct handover {
	uint32_t asked; /* sampled waiters */
	ol_ticks_t released_at;
} OL_OWN_LINE;

struct sample {
	ol_ticks_t latency;  /* from before the acquire to after it */
	ol_ticks_t handover; /* from the last release; OL_NEVER if that was before we came */
	uint32_t weight;     /* acquisitions that it stands for */
	uint32_t queue;	     /* others who waited for that lock when we came */
};

struct meter {
	struct workload_lock *waits_for; /* null: does not wait; others look at it */
	uint64_t acquisitions;
	uint64_t next;		/* the acquisition to be sampled next */
	ol_ticks_t last;	/* our last release, or when we came; OL_NEVER: we left */
	ol_ticks_t longest;	/* gap between releases */
	ol_ticks_t look_at;	/* when to look whether the pace has changed */
	ol_ticks_t waits_since; /* the sampled acquisition that is under way; 0: none is */
	uint32_t weight;	/* of that */

	ol_ticks_t since; /* measured from then on; 0: not measured; set by the main thread */
	uint32_t contexts;
	uint32_t mean;
	ol_ticks_t target; /* between two samples */
	ol_ticks_t window; /* the pace is known from then on, */
	uint64_t before;   /* and from that acquisition on */
	uint64_t random;
	struct handover *asks; /* for stamps, on behalf of the sample below */
	struct sample pending; /* to be kept once the lock is released */
	struct sample *samples;
	uint32_t capacity, n;
};

/* Expected so many per context and second, the buffer need not be thinned. */
struct meter_plan {
	ol_ticks_t target;
	uint32_t capacity;
};

/* For contexts that are expected to run for so long. */
struct meter_plan meter_plan(unsigned contexts, double seconds);

void meter_begin(struct meter *m, ol_ticks_t now);

/*
 * The time after all that was done before: the counter by itself may be read while the work before it
 * is still under way.
 */
static inline ol_ticks_t meter_now(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ __volatile__("isb" ::: "memory");
#endif
	return ol_now();
}

/* Keeps the sample that an acquisition left; not under its lock, which would hold up others. */
void meter_settle(struct meter *m);

/* The rare parts of releasing. */
void meter_gap(struct meter *m, ol_ticks_t now);
void meter_look(struct meter *m, ol_ticks_t now);

/* The acquisition to be sampled next, from m->acquisitions on. */
uint64_t meter_draw(struct meter *m);
#endif
