/* SPDX-License-Identifier: MIT */
/* A release takes 5 us before the lock is free. */
#include "planted.h"

#define OL_LOCK_LINE OL_LOCK(slow_release, waits, 0, "planted", "takes 5 us to release")

#define ol_slow_release_unlock slow_release_at_last
PLANTED(slow_release, (void)0, true)
#undef ol_slow_release_unlock

static inline void ol_slow_release_unlock(ol_slow_release_t *l)
{
	planted_wait(5000);
	slow_release_at_last(l);
}
