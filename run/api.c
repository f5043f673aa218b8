/* SPDX-License-Identifier: MIT */
/* The functions that programs call in place of glibc's: POSIX names, and C11's for the same. */
#include "interposer.h"

#include <dlfcn.h>
#include <errno.h>
#include <internal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <threads.h>
#include <unistd.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "glibc's mtx_t is a pthread_mutex_t");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "glibc's cnd_t is a pthread_cond_t");

static struct mutex *mutex_in(void *storage)
{
	return storage;
}

static struct cond *cond_in(void *storage)
{
	return storage;
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	CALLED_TO_END();
	return ol_run_mutex_init(mutex_in(mutex), attr, CALLER);
}

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	CALLED_TO_END();
	return ol_run_mutex_destroy(mutex_in(mutex));
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	CALLED();
	return ol_run_mutex_trylock(mutex_in(mutex), CALLER);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	CALLED();
	return ol_run_mutex_timedlock(mutex_in(mutex), CLOCK_REALTIME, until, CALLER);
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	CALLED();
	return ol_run_mutex_timedlock(mutex_in(mutex), clock, until, CALLER);
}

ALIAS(pthread_mutex_init);
ALIAS(pthread_mutex_destroy);
ALIAS(pthread_mutex_trylock);

int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	return ol_run_cond_init(cond_in(cond), attr);
}

int pthread_cond_destroy(pthread_cond_t *cond)
{
	return ol_run_cond_destroy(cond_in(cond));
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	CALLED();
	return ol_run_cond_wait(cond_in(cond), mutex_in(mutex));
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			   const struct timespec *until)
{
	CALLED();
	return ol_run_cond_timedwait(cond_in(cond), mutex_in(mutex), until);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
			   const struct timespec *until)
{
	CALLED();
	return ol_run_cond_clockwait(cond_in(cond), mutex_in(mutex), clock, until);
}

int pthread_cond_signal(pthread_cond_t *cond)
{
	return ol_run_cond_signal(cond_in(cond));
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
	return ol_run_cond_broadcast(cond_in(cond));
}

/* What a program asks of the kernel that concerns the library. */

/* The time stamp counter is to trap, and the library must not be what reads it. */
int prctl(int what, ...)
{
	unsigned long words[4];
	va_list args;

	va_start(args, what);
	for (int i = 0; i < 4; i++)
		words[i] = va_arg(args, unsigned long);
	va_end(args);
	lock_ops(); /* for `ol_run_real` */
	if (what == PR_SET_TSC && (int)words[0] == PR_TSC_SIGSEGV)
		ol_counter_traps();
	return ol_run_real.prctl(what, words[0], words[1], words[2], words[3]);
}

/*
 * Another namespace has a C library of its own, and there are no preloaded libraries in it: a mutex that both use
 * would be locked by two kinds of locks. So there is none; as if it could not be loaded. By a jump, since the
 * caller's own search path counts.
 */
void *dlmopen(Lmid_t namespace, const char *file, int mode)
{
	if (namespace == LM_ID_BASE || !lock_ops())
		return ol_run_real.dlmopen(namespace, file, mode);
	dprintf(STDERR_FILENO,
		"overlock: dlmopen: %s is not loaded, because mutexes that it shared with the "
		"program would be "
		"locked in two ways; run without overlock\n",
		file ? file : "the program");
	return ol_run_real.dlmopen(LM_ID_BASE, "overlock allows no second namespace", RTLD_NOW);
}

static struct rwlock *rwlock_in(void *storage)
{
	return storage;
}

int pthread_rwlock_init(pthread_rwlock_t *rwlock, const pthread_rwlockattr_t *attr)
{
	return ol_run_rwlock_init(rwlock_in(rwlock), attr);
}

int pthread_rwlock_destroy(pthread_rwlock_t *rwlock)
{
	return ol_run_rwlock_destroy(rwlock_in(rwlock));
}

int pthread_rwlock_rdlock(pthread_rwlock_t *rwlock)
{
	CALLED();
	return ol_run_rwlock_read(rwlock_in(rwlock));
}

int pthread_rwlock_tryrdlock(pthread_rwlock_t *rwlock)
{
	CALLED();
	return ol_run_rwlock_tryread(rwlock_in(rwlock));
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t *rwlock, const struct timespec *until)
{
	CALLED();
	return ol_run_rwlock_timedread(rwlock_in(rwlock), CLOCK_REALTIME, until);
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t *rwlock, clockid_t clock,
			       const struct timespec *until)
{
	CALLED();
	return ol_run_rwlock_timedread(rwlock_in(rwlock), clock, until);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *rwlock)
{
	CALLED();
	return ol_run_rwlock_write(rwlock_in(rwlock));
}

int pthread_rwlock_trywrlock(pthread_rwlock_t *rwlock)
{
	CALLED();
	return ol_run_rwlock_trywrite(rwlock_in(rwlock));
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t *rwlock, const struct timespec *until)
{
	CALLED();
	return ol_run_rwlock_timedwrite(rwlock_in(rwlock), CLOCK_REALTIME, until);
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t *rwlock, clockid_t clock,
			       const struct timespec *until)
{
	CALLED();
	return ol_run_rwlock_timedwrite(rwlock_in(rwlock), clock, until);
}

int pthread_rwlock_unlock(pthread_rwlock_t *rwlock)
{
	return ol_run_rwlock_unlock(rwlock_in(rwlock));
}

ALIAS(pthread_rwlock_init);
ALIAS(pthread_rwlock_destroy);
ALIAS(pthread_rwlock_rdlock);
ALIAS(pthread_rwlock_tryrdlock);
ALIAS(pthread_rwlock_wrlock);
ALIAS(pthread_rwlock_trywrlock);
ALIAS(pthread_rwlock_unlock);

static struct barrier *barrier_in(void *storage)
{
	return storage;
}

int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr, unsigned n)
{
	return ol_run_barrier_init(barrier_in(barrier), attr, n);
}

int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	return ol_run_barrier_destroy(barrier_in(barrier));
}

int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	return ol_run_barrier_wait(barrier_in(barrier));
}

int pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
	return ol_run_spin_init(lock, shared);
}

int pthread_spin_destroy(pthread_spinlock_t *lock)
{
	return ol_run_spin_destroy(lock);
}

int pthread_spin_lock(pthread_spinlock_t *lock)
{
	CALLED();
	return ol_run_spin_lock(lock);
}

int pthread_spin_trylock(pthread_spinlock_t *lock)
{
	CALLED();
	return ol_run_spin_trylock(lock);
}

int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	return ol_run_spin_unlock(lock);
}

static int thrd_code(int error)
{
	switch (error) {
	case 0:
		return thrd_success;
	case EBUSY:
		return thrd_busy;
	case ETIMEDOUT:
		return thrd_timedout;
	case ENOMEM:
		return thrd_nomem;
	default:
		return thrd_error;
	}
}

int mtx_init(mtx_t *mutex, int type)
{
	pthread_mutexattr_t attr;

	CALLED_TO_END();
	pthread_mutexattr_init(&attr);
	if ((type | mtx_timed) == (mtx_recursive | mtx_timed))
		pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	return thrd_code(ol_run_mutex_init(mutex_in(mutex), &attr, CALLER));
}

void mtx_destroy(mtx_t *mutex)
{
	CALLED_TO_END();
	ol_run_mutex_destroy(mutex_in(mutex));
}

int mtx_lock(mtx_t *mutex)
{
	CALLED();
	return thrd_code(ol_run_mutex_lock(mutex_in(mutex), CALLER));
}

int mtx_trylock(mtx_t *mutex)
{
	CALLED();
	return thrd_code(ol_run_mutex_trylock(mutex_in(mutex), CALLER));
}

int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until)
{
	CALLED();
	return thrd_code(ol_run_mutex_timedlock(mutex_in(mutex), CLOCK_REALTIME, until, CALLER));
}

int mtx_unlock(mtx_t *mutex)
{
	CALLED_TO_END();
	return thrd_code(ol_run_mutex_unlock(mutex_in(mutex)));
}

int cnd_init(cnd_t *cond)
{
	return thrd_code(ol_run_cond_init(cond_in(cond), 0));
}

void cnd_destroy(cnd_t *cond)
{
	ol_run_cond_destroy(cond_in(cond));
}

int cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	CALLED();
	return thrd_code(ol_run_cond_wait(cond_in(cond), mutex_in(mutex)));
}

int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex,
		  const struct timespec *restrict until)
{
	CALLED();
	return thrd_code(ol_run_cond_timedwait(cond_in(cond), mutex_in(mutex), until));
}

int cnd_signal(cnd_t *cond)
{
	return thrd_code(ol_run_cond_signal(cond_in(cond)));
}

int cnd_broadcast(cnd_t *cond)
{
	return thrd_code(ol_run_cond_broadcast(cond_in(cond)));
}

/*
 * Handlers run in the child in the order of registration, and some release locks there. Ours, which
 * begins the new epoch, must come before any of them: nobody registers before we have started.
 */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso)
{
	ol_run_start();
	if (!ol_run_real.register_atfork)
		return ENOSYS; /* not glibc's program: only our own constructors call this */
	return ol_run_real.register_atfork(prepare, parent, child, dso);
}
