/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PEERS_NODE_H
#define BENCH_PEERS_NODE_H
/*
 * Queue locks need a node from each acquirer, for as long as the lock is held; ours take
 * theirs from ol_self(). Here a thread takes one from its own spare nodes, and the lock keeps the
 * holder's in a word of its own. So a thread can hold any number of locks and release them in any
 * order, at the cost of a few instructions on the thread's memory, and of a store and a load beside
 * the queue's tail, a line that the holder has just written anyway.
 */
#include <stdlib.h>

/* A line of its own, and its neighbour, which processors fetch with it. */
#define NODE_SIZE	128

struct node {
	struct node *next;
};

/* Without the model each access from a plug-in would be a function call. */
static __thread struct node *node_spare __attribute__((tls_model("initial-exec")));

/* A thread that ends leaves its nodes behind, a few lines each: the cell's process ends soon. */
static inline void *node_take(void)
{
	struct node *node = node_spare;

	if (!node)
		return aligned_alloc(NODE_SIZE, NODE_SIZE);
	node_spare = node->next;
	return node;
}

static inline void node_give(void *memory)
{
	struct node *node = (struct node *)memory;

	node->next = node_spare;
	node_spare = node;
}
#endif
