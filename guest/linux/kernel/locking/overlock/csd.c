// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * How long a critical section takes, by the waits of this CPU: for i_spin with csd_learned.
 *
 * Teabe et al. take a csd above the longest section that they measured, four times the mean. This
 * follows the length that one wait in 65 exceeds: such a wait raises it by a sixteenth, the others
 * lower it by a 1024th each. So how much longer a wait was does not matter, and a few waits behind
 * a holder that lost its CPU do little. A lock is told twice that length.
 *
 * An interrupt that learns amid another's learning makes that one be forgotten.
 */
#include <linux/export.h>
#include <linux/percpu.h>
#include "overlock.h"

enum {
	/* In so long a wait somebody lost its CPU: it tells of slices, not of sections. */
	LOST_NS = 1000000,
	RISE = 16,
	FALL = 1024,
	MARGIN = 2,
};

static DEFINE_PER_CPU(ol_ticks_t, csd);

void ol_csd_learn(ol_ticks_t since, unsigned int n)
{
	ol_ticks_t *here = raw_cpu_ptr(&csd), known = READ_ONCE(*here);
	s64 waited = ol_now() - since;

	if (waited <= 0 || waited >= LOST_NS)
		return;
	waited /= n ? n : 1;
	if (!known)
		known = waited;
	else if (waited > known)
		known += known / RISE + 1;
	else
		known -= known / FALL;
	WRITE_ONCE(*here, known);
}
EXPORT_SYMBOL_GPL(ol_csd_learn);

ol_ticks_t ol_csd(void)
{
	return MARGIN * READ_ONCE(*raw_cpu_ptr(&csd));
}
EXPORT_SYMBOL_GPL(ol_csd);
