/* SPDX-License-Identifier: MIT */
/* Waits and events of the call under way. */
#include "sites.h"

#define STALL_NS 1000 /* Ouyang & Lange 2013, section 3: 2048 polls, "roughly 1 us" */

enum { NOT_STALLED, FOUND_HELD, FOUND_FREE };

static ol_ticks_t stall_ticks;

/* ol_sites_watch(). */
static ol_ticks_t (*watch)(ol_ticks_t began);
static ol_ticks_t watch_first = OL_NEVER;

void ol_waits_start(void)
{
	stall_ticks = ol_ticks_from_ns(STALL_NS);
}

void ol_sites_watch(ol_ticks_t first, ol_ticks_t (*look)(ol_ticks_t began))
{
	watch = look;
	watch_first = first;
}

static void take_for_wait(struct ol_call *c)
{
	c->stack_at = OL_NEVER;
	c->stack = ol_stack_take(c->counts->record.site);
}

static void look_if_due(struct ol_call *c)
{
	if (OL_UNLIKELY(watch != 0) && ol_passed(c->look_at))
		c->look_at = watch(c->since);
	if (c->stack_at != OL_NEVER && ol_passed(c->stack_at))
		take_for_wait(c);
}

static void wait_begin(struct ol_call *c)
{
	c->asleep = 0;
	c->slice = ol_counting_slice(&me);
	c->preempted = 0;
	c->stalled = NOT_STALLED;
	c->since = ol_now();
	c->look_at = ol_after(1, watch_first);
	c->stack = 0;
	c->stack_at = ol_stack_due();
}

/*
 * A thread that stalls behind a free lock waits for a waiter that was preempted: another thread, or
 * itself until now.
 */
static void look_for_holder(struct ol_call *c)
{
	c->stalled = ol_lock_is_held(c->lock) ? FOUND_HELD : FOUND_FREE;
}

void ol_count_poll(void)
{
	struct ol_call *c = me.current;

	if (!c || !c->since)
		return;
	if (!c->stalled && ol_now() - c->since > stall_ticks)
		look_for_holder(c);
	look_if_due(c);
}

ol_ticks_t ol_count_until(ol_ticks_t until)
{
	const struct ol_call *c = me.current;

	return c && c->since ? ol_earlier(until, c->look_at) : until;
}

/*
 * Who goes to sleep will have waited for long enough. A stack must be taken before it parks: it may be
 * woken with the lock in its hands.
 */
void ol_count_sleep(bool parks)
{
	struct ol_call *c = me.current;

	if (!c || !c->since)
		return;
	if (!c->stalled)
		look_for_holder(c);
	look_if_due(c);
	if (parks && c->stack_at != OL_NEVER)
		take_for_wait(c);
	c->preempted |= c->slice != ol_counting_slice(&me);
	c->asleep -= ol_now();
}

/* The slice that it gave up itself was not taken from it. */
void ol_count_wake(void)
{
	struct ol_call *c = me.current;

	if (!c || !c->since)
		return;
	c->asleep += ol_now();
	c->slice = ol_counting_slice(&me);
}

void ol_wait_over(struct ol_call *c, unsigned outcome)
{
	struct ol_site_record *r = &c->counts->record;
	ol_ticks_t now = ol_now(), waited = now - c->since;
	uint64_t ns = ol_ns_from_ticks(waited);

	ol_more(&r->wait_ns, ns);
	if (c->stack)
		ol_stack_add_wait(c->stack, ns);
	ol_more(&r->spin_ns, ol_ns_from_ticks(waited - c->asleep));
	if (ol_times_kept)
		ol_more(&r->wait[ol_time_bucket(ns)], 1);
	if (outcome != OL_ACQUIRE)
		return;
	if (ol_times_kept)
		ol_time_handover(c, now);
	if (c->preempted || c->slice != ol_counting_slice(&me))
		ol_one_more(&r->events[OL_LWP]);
	if (waited <= stall_ticks)
		return;
	ol_one_more(&r->events[OL_STALL]);
	if (c->stalled == FOUND_HELD)
		ol_one_more(&r->events[OL_STALL_HELD]);
	else if (c->stalled == FOUND_FREE)
		ol_one_more(&r->events[OL_STALL_FREE]);
}

/* Events. */

void ol_at_site(const void *site)
{
	me.at = site;
}

void ol_count_event(unsigned event)
{
	struct ol_call *c = me.current;

	if (!c)
		return; /* a lock that the library was not asked to take */
	if (!c->counts) {
		ol_call_missed();
		return;
	}
	ol_one_more(&c->counts->record.events[event]);
	if (event == OL_SLOW_PATH && !c->since)
		wait_begin(c);
}

void ol_count_event_at(unsigned event, unsigned n)
{
	ol_count_event(event);
	if (me.current && me.current->counts)
		ol_one_more(&me.current->counts->record.places[event][ol_place(n)]);
}
