/* SPDX-License-Identifier: MIT */
/* Peers that lack what the tests look for. */
#include "in_step.h"
#include "lock.h"
#include <pthread.h>
#include <string.h>

static pthread_mutex_t *held; /* the only lock that one_node can release */

static bool keep(pthread_mutex_t *l, int error)
{
	if (!error)
		held = l;
	return !error;
}

PEER_LOCK(in_step, ol_in_step_t, memset(l, 0, sizeof(*l)), ol_in_step_lock(l),
	  ol_in_step_trylock(l), ol_in_step_unlock(l))
PEER_LOCK(liar, pthread_mutex_t, pthread_mutex_init(l, NULL), pthread_mutex_lock(l),
	  (pthread_mutex_trylock(l), true), pthread_mutex_unlock(l))
PEER_LOCK(deaf, pthread_mutex_t, pthread_mutex_init(l, NULL), pthread_mutex_lock(l),
	  ((void)l, false), pthread_mutex_unlock(l))
PEER_LOCK(impatient, pthread_mutex_t, pthread_mutex_init(l, NULL), pthread_mutex_trylock(l),
	  pthread_mutex_trylock(l) == 0, pthread_mutex_unlock(l))
PEER_LOCK(one_node, pthread_mutex_t, pthread_mutex_init(l, NULL), keep(l, pthread_mutex_lock(l)),
	  keep(l, pthread_mutex_trylock(l)), ((void)l, pthread_mutex_unlock(held)))

#include "table.h"
