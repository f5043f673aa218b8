/* SPDX-License-Identifier: MIT */
#include "lock.h"
#include <nsync.h>

PEER_LOCK(nsync_mu, nsync_mu, nsync_mu_init(l), nsync_mu_lock(l), nsync_mu_trylock(l) != 0,
	  nsync_mu_unlock(l))

#include "table.h"
