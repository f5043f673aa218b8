/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_TX_H
#define WORKLOAD_TX_H
/*
 * Long's proof of concept: inodes are taken off their superblock's list, each by the context that made
 * it. One lock guards the list; two sections conflict only where the inodes are neighbours. So that
 * the list does not end, the next turn puts the inode back, behind one drawn from all.
 *
 * The paper found no gain, "because of the small critical section", and looked for a use that has one.
 * `scan` makes the section longer, by reading other inodes that nobody writes: sections that a lock
 * sets in a row can then overlap. `tally` makes each write one line that all share: none can.
 *
 * The inodes are in rows, one for each context; what is known of one is in it, guarded by the lock.
 */
#include "workload.h"

#ifndef TX_ROWS
#define TX_ROWS		64u
#define TX_INODES	256u
#endif
#define TX_SCANNED	256u

struct tx_inode {
	struct tx_inode *next, *prev; /* null: off the list */
} __attribute__((aligned(64)));

struct tx {
	char nothing;
};

struct tx_guarded {
	struct tx_inode head; /* null before the first turn */
	struct tx_inode inodes[TX_ROWS][TX_INODES];
	struct tx_inode quiet[TX_SCANNED];
	uint64_t tally OL_OWN_LINE;
	uint32_t torn OL_OWN_LINE; /* somebody saw links that disagree */
} OL_OWN_LINE;

struct tx_own {
	struct tx_inode *off; /* the one to be put back; null: none */
	uint64_t seen;	      /* so that what is scanned is read */
};

static inline struct tx_inode *tx_next(const struct tx_inode *inode)
{
	return ol_load_relaxed(&inode->next);
}

static inline struct tx_inode *tx_prev(const struct tx_inode *inode)
{
	return ol_load_relaxed(&inode->prev);
}

static inline void tx_begin(const struct workload_run *run, struct tx *w, struct tx_own *own,
			    struct workload_me *me)
{
	(void)run, (void)w, (void)own, (void)me;
}

/* A lock that excludes nobody may take links away while we follow them: that is found, not followed. */
static inline void tx_take_off(struct tx_guarded *data, struct tx_inode *inode)
{
	struct tx_inode *next = tx_next(inode), *prev = tx_prev(inode);

	if (!next || !prev || tx_next(prev) != inode || tx_prev(next) != inode)
		ol_store_relaxed(&data->torn, 1u);
	if (!next || !prev)
		return;
	ol_store_relaxed(&prev->next, next);
	ol_store_relaxed(&next->prev, prev);
	ol_store_relaxed(&inode->next, (struct tx_inode *)0);
}

static inline void tx_put_behind(struct tx_guarded *data, struct tx_inode *inode,
				 struct tx_inode *prev)
{
	struct tx_inode *next = tx_next(prev);

	if (!next) {
		ol_store_relaxed(&data->torn, 1u);
		return;
	}
	ol_store_relaxed(&inode->next, next);
	ol_store_relaxed(&inode->prev, prev);
	ol_store_relaxed(&next->prev, inode);
	ol_store_relaxed(&prev->next, inode);
}

/* In the first section; neighbours are of different contexts. */
static inline void tx_make_list(struct tx_guarded *data, uint32_t rows, uint32_t n)
{
	ol_store_relaxed(&data->head.prev, &data->head);
	ol_store_relaxed(&data->head.next, &data->head);
	for (uint32_t i = 0; i < rows * n; i++)
		tx_put_behind(data, &data->inodes[i % rows][i / rows], &data->head);
}

static inline uint64_t tx_scan(const struct tx_guarded *data, uint64_t lines)
{
	uint64_t seen = 0;

	for (uint64_t i = 0; i < lines; i++)
		seen += !tx_next(&data->quiet[i % TX_SCANNED]);
	return seen;
}

static inline bool tx_turn(const struct workload_run *run, struct tx *w, struct tx_own *own,
			   struct workload_me *me)
{
	struct tx_guarded *data = (struct tx_guarded *)run->guarded;
	uint32_t rows = run->contexts < TX_ROWS ? run->contexts : TX_ROWS;
	uint32_t n = (uint32_t)run->params->tx_inodes;
	uint32_t row = workload_random_below(&me->random, rows);
	struct tx_inode *any = &data->inodes[row][workload_random_below(&me->random, n)];
	struct tx_inode *mine =
		&data->inodes[me->index % TX_ROWS][workload_random_below(&me->random, n)];
	bool listed;

	(void)w;
	if (own->off)
		mine = own->off;
	workload_acquire(me, run->locks);
	if (OL_UNLIKELY(!tx_next(&data->head)))
		tx_make_list(data, rows, n);
	own->seen = tx_scan(data, run->params->tx_scan);
	listed = tx_next(mine) != (struct tx_inode *)0;
	if (listed)
		tx_take_off(data, mine);
	else
		tx_put_behind(data, mine, tx_next(any) ? any : &data->head);
	if (run->params->tx_tally)
		ol_store_relaxed(&data->tally, ol_load_relaxed(&data->tally) + 1);
	workload_release(me, run->locks);
	own->off = listed ? mine : (struct tx_inode *)0;
	return true;
}

/* From the head to the head; not while somebody may be changing it. */
static inline bool tx_is_whole(const struct tx_guarded *data)
{
	const struct tx_inode *at = &data->head;
	uint64_t steps = 0;

	do {
		if (!tx_next(at) || tx_prev(tx_next(at)) != at)
			return false;
		at = tx_next(at);
	} while (at != &data->head && steps++ < (uint64_t)TX_ROWS * TX_INODES);
	for (uint32_t i = 0; i < TX_ROWS * TX_INODES; i++)
		steps -= tx_next(&data->inodes[i / TX_INODES][i % TX_INODES]) !=
			 (struct tx_inode *)0;
	return steps == 0;
}

static inline const char *tx_check(const struct workload_run *run, const struct tx *w,
				   uint64_t turns, unsigned inside)
{
	const struct tx_guarded *data = (const struct tx_guarded *)run->guarded;
	uint64_t tally = ol_load_relaxed(&data->tally);

	(void)w;
	if (ol_load_relaxed(&data->torn) || (!inside && tx_next(&data->head) && !tx_is_whole(data)))
		return "the list is broken";
	if (run->params->tx_tally && (tally < turns || tally > turns + inside))
		return "sections were lost";
	return (const char *)0;
}
#endif
