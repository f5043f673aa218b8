// SPDX-License-Identifier: MIT
// Concurrency Kit's ticket lock, the version for any machine.
// brings: include/spinlock/ticket.h
#include <overlock/foreign/ck.h>
#include "ticket.h"

static void lock(void *o)
{
	ck_spinlock_ticket_lock(o);
}

static void release(void *o)
{
	ck_spinlock_ticket_unlock(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Concurrency Kit ticket",
	.size = sizeof(ck_spinlock_ticket_t),
	.lock = lock,
	.unlock = release,
};
