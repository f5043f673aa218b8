/* SPDX-License-Identifier: MIT */
/*
 * Which waits and holds have their stack taken. That takes far longer than a short wait, so a wait has to
 * last first, and a thread that has taken a stack takes none for 50 times as long, by chance half or one
 * and a half of that: a fixed rhythm could be the program's own. Whether a wait may have one is decided
 * when it begins; decided later, waits would be chosen by their length.
 */
#include "sites.h"

enum { STACK_SHARE = 50 };
static const uint64_t STACK_MOST_NS = 1000000; /* a longer one includes time off the CPU */

static struct ol_stack *(*take_stack)(const void *site);
static ol_ticks_t stack_first = OL_NEVER;

void ol_sites_take_stacks(ol_ticks_t first, struct ol_stack *(*take)(const void *site))
{
	take_stack = take;
	stack_first = first;
}

/* Knuth's constants for a linear congruential generator; begun by where the thread's variables are. */
static uint64_t by_chance(uint64_t below)
{
	if (!me.chance)
		me.chance = (uintptr_t)&me;
	me.chance = me.chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (me.chance >> 33) % (below + 1);
}

struct ol_stack *ol_stack_take(const void *site)
{
	ol_ticks_t began = ol_now(), took, most = ol_ticks_from_ns(STACK_MOST_NS);
	struct ol_stack *s;

	me.stack_due = OL_NEVER; /* for handlers too, and for what is called to unwind */
	s = take_stack(site);
	took = ol_now() - began;
	took = took < most ? took : most;
	me.stack_due = ol_after(1, STACK_SHARE / 2 * took + by_chance(STACK_SHARE * took));
	return s;
}

static bool stack_is_due(void)
{
	return OL_UNLIKELY(take_stack != 0) && me.stack_due != OL_NEVER &&
	       (!me.stack_due || ol_passed(me.stack_due));
}

ol_ticks_t ol_stack_due(void)
{
	return stack_is_due() ? ol_after(1, stack_first) : OL_NEVER;
}

void ol_sites_take_for_hold(const void *site)
{
	me.hold = stack_is_due() ? ol_stack_take(site) : 0;
}

/* No thread reads a forked child's. */
void ol_stacks_renew(void)
{
	take_stack = 0;
}
