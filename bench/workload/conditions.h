/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_CONDITIONS_H
#define WORKLOAD_CONDITIONS_H
/*
 * A bounded buffer between producers and consumers, under the lock, with a condition variable for
 * each side made of the platform layer: a sequence word to park on, which another moves and kicks.
 *
 * Contexts of even index produce, of odd index consume; without a partner, the last one does both
 * in turns, so that as much is taken as is put. A turn that puts or takes an item counts.
 *
 * Items are numbered as they are put; a consumer sees whether its item is the next.
 */
#include "ledger.h"
#include "workload.h"

#define CONDITIONS_SLOTS	16u

struct conditions_queue {
	uint32_t sequence; /* moved under the lock whenever somebody is to look again */
	uint32_t waiting;
} OL_OWN_LINE;

struct conditions {
	char nothing;
};

struct conditions_guarded {
	struct ledger ledger;
	struct conditions_queue space, items; /* what producers and what consumers wait for */
	uint64_t put, taken;
	uint64_t ring[CONDITIONS_SLOTS];
	uint32_t wrong; /* an item was lost, or taken twice */
};

struct conditions_own {
	bool put; /* the last thing done, by one without a partner */
};

static inline void conditions_begin(const struct workload_run *run, struct conditions *w,
				    struct conditions_own *own, struct workload_me *me)
{
	(void)run, (void)w, (void)own, (void)me;
}

static inline bool conditions_puts(const struct workload_run *run, const struct conditions_own *own,
				   const struct workload_me *me)
{
	bool even = me->index % 2 == 0, alone = even && me->index + 1 == run->contexts;

	return alone ? !own->put : even;
}

static inline uint64_t conditions_held(const struct conditions_guarded *data)
{
	return ol_load_relaxed(&data->put) - ol_load_relaxed(&data->taken);
}

static inline bool conditions_may(const struct conditions_guarded *data, bool put)
{
	return put ? conditions_held(data) < CONDITIONS_SLOTS : conditions_held(data) > 0;
}

/*
 * Releases the lock, sleeps, takes it again. Who moves the sequence in between is seen by the
 * comparison in ol_park(), a thread that moves it later finds us parked: no wake-up is lost.
 */
static inline void conditions_wait(const struct workload_run *run, struct conditions_queue *queue,
				   struct workload_me *me, ol_ticks_t until)
{
	uint32_t seen = ol_load_relaxed(&queue->sequence);

	ol_store_relaxed(&queue->waiting, ol_load_relaxed(&queue->waiting) + 1);
	workload_release(me, run->locks);
	ol_leave();
	ol_park(&queue->sequence, seen, OL_ANY, until);
	workload_acquire(me, run->locks);
	ol_store_relaxed(&queue->waiting, ol_load_relaxed(&queue->waiting) - 1);
}

static inline void conditions_put(struct conditions_guarded *data)
{
	uint64_t number = ol_load_relaxed(&data->put);

	ol_store_relaxed(&data->ring[number % CONDITIONS_SLOTS], number);
	ol_store_relaxed(&data->put, number + 1);
}

static inline void conditions_take(struct conditions_guarded *data)
{
	uint64_t number = ol_load_relaxed(&data->taken);

	if (ol_load_relaxed(&data->ring[number % CONDITIONS_SLOTS]) != number)
		ol_store_relaxed(&data->wrong, 1u);
	ol_store_relaxed(&data->taken, number + 1);
}

/*
 * True once an item can be put or taken. Nobody waits for longer than the platform's patience, for whom
 * it waits for may have left. It looks once more before it gives up: it may have had the wake-up.
 */
static inline bool conditions_await(const struct workload_run *run, struct conditions_guarded *data,
				    struct workload_me *me, bool put)
{
	ol_ticks_t until;

	if (conditions_may(data, put))
		return true;
	until = ol_after(1, run->patience);
	do {
		conditions_wait(run, put ? &data->space : &data->items, me, until);
		if (conditions_may(data, put))
			return true;
	} while (!ol_passed(until));
	return false;
}

static inline void conditions_change(struct conditions_guarded *data, bool put)
{
	uint64_t entry = ledger_open(&data->ledger);

	if (put)
		conditions_put(data);
	else
		conditions_take(data);
	ledger_close(&data->ledger, entry);
}

static inline bool conditions_turn(const struct workload_run *run, struct conditions *w,
				   struct conditions_own *own, struct workload_me *me)
{
	struct conditions_guarded *data = (struct conditions_guarded *)run->guarded;
	bool put = conditions_puts(run, own, me), done, kick;
	struct conditions_queue *other = put ? &data->items : &data->space;

	(void)w;
	workload_acquire(me, run->locks);
	done = conditions_await(run, data, me, put);
	if (done)
		conditions_change(data, put);
	kick = done && ol_load_relaxed(&other->waiting) > 0;
	if (kick)
		ol_store_relaxed(&other->sequence, ol_load_relaxed(&other->sequence) + 1);
	workload_release(me, run->locks);
	if (!done)
		return false;
	if (kick)
		ol_kick(&other->sequence, OL_ANY, 1);
	own->put = put;
	workload_burn(run->params->conditions_ncs);
	return true;
}

static inline const char *conditions_check(const struct workload_run *run,
					   const struct conditions *w, uint64_t turns,
					   unsigned inside)
{
	const struct conditions_guarded *data = (const struct conditions_guarded *)run->guarded;

	(void)w;
	if (ol_load_relaxed(&data->wrong))
		return "an item was lost, or taken twice";
	if (!inside && conditions_held(data) > CONDITIONS_SLOTS)
		return "the buffer holds more than fits";
	return ledger_check(&data->ledger, turns, inside);
}
#endif
