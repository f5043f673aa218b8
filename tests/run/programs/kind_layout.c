// SPDX-License-Identifier: MIT
// In front of glibc: what pthread_mutex_init() and pthread_rwlock_init() make, as a version might that keeps
// the kind of a mutex and whether an rwlock is process-shared in other words.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <string.h>

int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	uint32_t *words = (void *)m;
	int kind = 0;

	memset(m, 0, sizeof(*m));
	if (attr)
		pthread_mutexattr_gettype(attr, &kind);
	words[MUTEX_WORD] = (uint32_t)kind;
	return 0;
}

int pthread_rwlock_init(pthread_rwlock_t *r, const pthread_rwlockattr_t *attr)
{
	uint32_t *words = (void *)r;
	int shared = 0, kind = 0;

	memset(r, 0, sizeof(*r));
	if (attr) {
		pthread_rwlockattr_getpshared(attr, &shared);
		pthread_rwlockattr_getkind_np(attr, &kind);
	}
	words[RWLOCK_WORD] = (uint32_t)shared;
	words[12] = (uint32_t)kind;
	return 0;
}
