// SPDX-License-Identifier: MIT
// Linux's resilient qspinlock in a deadlock: T1 takes a second lock in its section, T2 the same two in the other
// order, T3 the first alone.
#define OL_STEP	(2 * NSEC_PER_MSEC)
#include "linux_rqspinlock.h"

struct two {
	rqspinlock_t a, b;
};

static void lock(void *o)
{
	struct two *l = o;

	if (ol_checked_self() != 2) {
		take(&l->a);
		return;
	}
	for (;;) {
		take(&l->b);
		if (!res_spin_lock(&l->a))
			return;
		res_spin_unlock(&l->b);
	}
}

static void release(void *o)
{
	struct two *l = o;

	if (ol_checked_self() == 1 && !res_spin_lock(&l->b))
		res_spin_unlock(&l->b);
	res_spin_unlock(&l->a);
	if (ol_checked_self() == 2)
		res_spin_unlock(&l->b);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Linux rqspinlock, two of them in both orders",
	.size = sizeof(struct two),
	.lock = lock,
	.unlock = release,
};
