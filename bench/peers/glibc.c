/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "lock.h"
#include <pthread.h>

static void adaptive_init(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

PEER_LOCK(pthread_mutex, pthread_mutex_t, pthread_mutex_init(l, NULL), pthread_mutex_lock(l),
	  pthread_mutex_trylock(l) == 0, pthread_mutex_unlock(l))
PEER_LOCK(pthread_adaptive, pthread_mutex_t, adaptive_init(l), pthread_mutex_lock(l),
	  pthread_mutex_trylock(l) == 0, pthread_mutex_unlock(l))
PEER_LOCK(pthread_spin, pthread_spinlock_t, pthread_spin_init(l, PTHREAD_PROCESS_PRIVATE),
	  pthread_spin_lock(l), pthread_spin_trylock(l) == 0, pthread_spin_unlock(l))

#include "table.h"
