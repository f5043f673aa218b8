/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_WAIT_TREE_BARRIER_H
#define OL_WAIT_TREE_BARRIER_H
/*
 * Combining tree barrier: Yew, Tzeng & Lawrie 1987; Mellor-Crummey & Scott 1991, 3.3. For many CPUs: no more than FAN
 * contexts use one cache line, and sleepers are woken by several.
 *
 *	static ol_tree_barrier_t b[OL_TREE_BARRIER_NODES(64)];
 *
 *	ol_tree_barrier_wait(b, n);	n <= 64, the same for all
 *
 * Each node is a central barrier (barrier.h): the last to arrive goes on to the node above, and opens its own when it
 * comes back. Nobody registers: a context looks for a free place in a leaf, where its id says first, so that it
 * usually finds the one that it had before. There are as many places as contexts; a leaf that is still to be opened
 * has as many of them inside.
 *
 * A waiter cannot give up: that its leaf is complete may be known further up. The memory may be freed once all have
 * returned.
 *
 *		  node 2 (2 places)
 *		 /		   \
 *	 leaf 0 (FAN places)	leaf 1 (n - FAN places)
 *
 * Pairing: that of barrier.h, node by node; [P] is [L] there.
 */
#include <overlock/wait/barrier.h>

#ifndef OL_TREE_BARRIER_FAN /* the checker has fewer contexts */
#define OL_TREE_BARRIER_FAN		8u
#endif
#define OL_TREE_BARRIER_NODES(n)	((n) / (OL_TREE_BARRIER_FAN - 1) + 11) /* at least */

typedef struct OL_OWN_LINE ol_tree_barrier {
	ol_barrier_t meets;
} ol_tree_barrier_t;

static inline uint32_t ol_tree_barrier_parents(uint32_t children)
{
	return (children + OL_TREE_BARRIER_FAN - 1) / OL_TREE_BARRIER_FAN;
}

/* How many of `children` belong to parent i. */
static inline uint32_t ol_tree_barrier_places(uint32_t children, uint32_t i)
{
	uint32_t left = children - i * OL_TREE_BARRIER_FAN;

	return left < OL_TREE_BARRIER_FAN ? left : OL_TREE_BARRIER_FAN;
}

/* Arrives unless all places are taken. */
static inline bool ol_tree_barrier_enter(ol_tree_barrier_t *leaf, uint32_t places, uint32_t *seen)
{
	do {
		*seen = ol_load_relaxed(&leaf->meets.word);
		if (*seen / OL_BARRIER_ARRIVAL >= places)
			return false;
	} while (!ol_cas_acq_rel(&leaf->meets.word, *seen, *seen + OL_BARRIER_ARRIVAL)); /* [P] */
	return true;
}

/* Child i of `children`, whose nodes end at `parents`, is complete. True for the last of all contexts. */
static inline bool ol_tree_barrier_rise(ol_tree_barrier_t *parents, uint32_t children, uint32_t i)
{
	uint32_t n = ol_tree_barrier_parents(children), up = i / OL_TREE_BARRIER_FAN;
	uint32_t places = ol_tree_barrier_places(children, up), sense;
	bool last;

	if (children == 1)
		return true;
	sense = ol_barrier_arrive(&parents[up].meets, places, &last);
	if (last) {
		last = ol_tree_barrier_rise(parents + n, n, up);
		ol_barrier_open(&parents[up].meets, sense);
	} else {
		ol_barrier_await(&parents[up].meets, places, sense, OL_NEVER);
	}
	return last;
}

/* True for one context of each round. */
static inline bool ol_tree_barrier_wait(ol_tree_barrier_t *b, uint32_t n)
{
	uint32_t leaves = ol_tree_barrier_parents(n), i = ol_self() % leaves, w, sense;
	bool last = false;

	while (!ol_tree_barrier_enter(&b[i], ol_tree_barrier_places(n, i), &w))
		i = i + 1 < leaves ? i + 1 : 0;
	sense = w & OL_BARRIER_SENSE;
	if (w / OL_BARRIER_ARRIVAL + 1 == ol_tree_barrier_places(n, i)) {
		last = ol_tree_barrier_rise(b + leaves, leaves, i);
		ol_barrier_open(&b[i].meets, sense);
	} else {
		ol_barrier_await(&b[i].meets, ol_tree_barrier_places(n, i), sense, OL_NEVER);
	}
	return last;
}
#endif
