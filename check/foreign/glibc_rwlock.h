/* SPDX-License-Identifier: MIT */
/* What the files of glibc's rwlock share. A kind is one of pthread_rwlockattr_setkind_np(). */
#include <overlock/foreign/glibc.h>

#define PTHREAD_RWLOCK_WRPHASE		1
#define PTHREAD_RWLOCK_WRLOCKED		2
#define PTHREAD_RWLOCK_RWAITING		4
#define PTHREAD_RWLOCK_READER_SHIFT	3
#define PTHREAD_RWLOCK_READER_OVERFLOW	0x80000000u
#define PTHREAD_RWLOCK_WRHANDOVER	0x80000000u
#define PTHREAD_RWLOCK_FUTEX_USED	2
#include "pthread_rwlock_common.c"
#include "pthread_rwlock_rdlock.c"
#include "pthread_rwlock_tryrdlock.c"
#include "pthread_rwlock_trywrlock.c"
#include "pthread_rwlock_unlock.c"
#include "pthread_rwlock_wrlock.c"

#ifndef OL_KIND
#define OL_KIND	PTHREAD_RWLOCK_PREFER_READER_NP
#endif

static void start(void *o)
{
	((pthread_rwlock_t *)o)->__data.__flags = OL_KIND;
	ol_glibc_start();
}

/* With -DOL_TRIES a writer tries first. */
static void lock(void *o)
{
#ifdef OL_TRIES
	if (!___pthread_rwlock_trywrlock(o))
		return;
#endif
	___pthread_rwlock_wrlock(o);
}

static bool try_to_lock(void *o)
{
	return ___pthread_rwlock_trywrlock(o) == 0;
}

static void lock_shared(void *o)
{
	___pthread_rwlock_rdlock(o);
}

static void release(void *o)
{
	___pthread_rwlock_unlock(o);
}
