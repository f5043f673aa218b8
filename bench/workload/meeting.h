/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_MEETING_H
#define WORKLOAD_MEETING_H
/*
 * Barriers as subjects of the workload `rounds`: to acquire one is to wait at it, and a release does nothing.
 * MEETING_TRAIT, which no lock has, says so. The object begins with the number of contexts that meet, MEETING_MOST
 * at most, which the platform sets before it calls the subject's init.
 *
 * MEETING(id, type, wait), with a line in barriers.def: `wait` is an expression with `b`, which points to a `type`,
 * and `n`.
 */
#include <overlock/ops.h>
#include <overlock/wait/barrier.h>
#include <overlock/wait/tree_barrier.h>

#define MEETING_TRAIT	(1u << 31)
#define MEETING_MOST	16384u

#define MEETING(id, type, wait)								\
	typedef struct {								\
		uint32_t contexts;							\
		type at OL_OWN_LINE;							\
	} id##_meeting;									\
	__attribute__((unused)) static void id##_meet(void *object)			\
	{										\
		type *b = &((id##_meeting *)object)->at;				\
		uint32_t n = ((id##_meeting *)object)->contexts;			\
		wait;									\
	}

static inline void meeting_release(void *object)
{
	(void)object;
}

typedef struct {
	ol_tree_barrier_t nodes[OL_TREE_BARRIER_NODES(MEETING_MOST)];
} meeting_tree;

MEETING(barrier, ol_barrier_t, ol_barrier_wait(b, n))
MEETING(tree_barrier, meeting_tree, ol_tree_barrier_wait(b->nodes, n))

/*
 * The usual loops, sense-reversing, to compare with. They use the word of ol_barrier_t, which has the value `w`. `turn`
 * is what a waiter does between two looks, and `wake` what the last one does for it.
 */
#define MEETING_LOOP(id, turn, wake)							\
	static inline void id##_loop(ol_barrier_t *b, uint32_t n)			\
	{										\
		bool last;								\
		uint32_t w, sense = ol_barrier_arrive(b, n, &last);			\
		if (last) {								\
			ol_store_release(&b->word, sense ^ OL_BARRIER_SENSE);		\
			wake;								\
		} else {								\
			while (!ol_barrier_turned(w = ol_load_acquire(&b->word), sense))	\
				turn;							\
		}									\
	}										\
	MEETING(id, ol_barrier_t, id##_loop(b, n))

MEETING_LOOP(spin_barrier, ol_relax(), (void)0)
MEETING_LOOP(yield_barrier, ol_yield(), (void)0)
MEETING_LOOP(sleep_barrier, ol_park(&b->word, w, OL_ANY, OL_NEVER),
	     ol_kick(&b->word, OL_ANY, INT32_MAX))

/* Of a line of barriers.def, what holds where nothing but the platform layer is: MEETING_IF_##where(...). */
#define MEETING_IF_any(...)	__VA_ARGS__
#define MEETING_IF_user(...)
#define MEETING_IF_openmp(...)

#define MEETING_OPS(id, source, what)							\
	{										\
		#id, source, what, OL_ABI, sizeof(id##_meeting), 128, MEETING_TRAIT, id##_meet, 0, 0, \
			meeting_release, 0, 0, 0, 0,					\
	}
#endif
