/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PORT_NODE_H
#define OL_PORT_NODE_H
/*
 * A context's memory, the same on every platform. The port defines OL_OWN_LINE before. A platform
 * that keeps more in a node defines OL_NODE_OWN, members that locks do not touch.
 */
#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#ifndef OL_NODE_OWN
#define OL_NODE_OWN
#endif

struct ol_node { /* of a queue lock; meaning by the lock */
	struct ol_node *next;
	uint32_t wait;
	uint32_t ahead; /* the number of the node ahead in the queue */
	uint32_t place; /* how many are ahead, as far as is known */
	uint32_t id;	/* of its context, as ol_self() */
	uint32_t owner; /* which context holds the lock, as far as the queue was told */
	OL_NODE_OWN
	uint64_t time; /* until when its owner counts as running, in ticks */
} OL_OWN_LINE;

/* What the context's yields showed of others that want its CPU; all zero: nothing. Times in ticks. */
struct ol_crowd {
	uint64_t brief_until; /* they run for a moment */
	uint64_t long_until;  /* they run for long */
	uint64_t forgets_at;
	uint32_t leases; /* for how many that they run for long was last remembered */
};
#endif
