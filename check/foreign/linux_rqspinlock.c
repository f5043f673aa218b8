// SPDX-License-Identifier: MIT
// Linux's resilient qspinlock, of BPF.
#include "linux_rqspinlock.h"

static void lock(void *o)
{
	take(o);
}

static void release(void *o)
{
	res_spin_unlock(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Linux rqspinlock",
	.size = sizeof(rqspinlock_t),
	.lock = lock,
	.unlock = release,
};
