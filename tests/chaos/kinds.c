/* SPDX-License-Identifier: MIT */
/* Every function that the library takes the place of answers as glibc's does; each kind of site is visited. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define MUST(holds)                                                    \
	do {                                                           \
		if (!(holds)) {                                        \
			fprintf(stderr, "%d: not " #holds "\n", __LINE__); \
			exit(1);                                       \
		}                                                      \
	} while (0)

static struct timespec past(void)
{
	return (struct timespec){ 1, 0 };
}

static void mutexes(void)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;
	struct timespec t = past();

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&m, &a);
	MUST(pthread_mutex_unlock(&m) == EPERM);
	MUST(pthread_mutex_lock(&m) == 0);
	MUST(pthread_mutex_lock(&m) == EDEADLK);
	MUST(pthread_mutex_trylock(&m) == EBUSY);
	MUST(pthread_mutex_unlock(&m) == 0);
	MUST(pthread_mutex_destroy(&m) == 0);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_NORMAL);
	pthread_mutex_init(&m, &a);
	MUST(pthread_mutex_trylock(&m) == 0);
	MUST(pthread_mutex_timedlock(&m, &t) == ETIMEDOUT);
	MUST(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &t) == ETIMEDOUT);
	MUST(pthread_mutex_unlock(&m) == 0);
}

static void *die_with(void *m)
{
	MUST(pthread_mutex_lock(m) == 0);
	return 0;
}

static void robust(void)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;
	pthread_t t;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&m, &a);
	MUST(pthread_create(&t, 0, die_with, &m) == 0);
	MUST(pthread_join(t, 0) == 0);
	MUST(pthread_mutex_lock(&m) == EOWNERDEAD);
	MUST(pthread_mutex_consistent(&m) == 0);
	MUST(pthread_mutex_unlock(&m) == 0);
}

static void rwlocks(void)
{
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec t = past();

	MUST(pthread_rwlock_rdlock(&l) == 0);
	MUST(pthread_rwlock_tryrdlock(&l) == 0);
	MUST(pthread_rwlock_trywrlock(&l) == EBUSY);
	MUST(pthread_rwlock_timedwrlock(&l, &t) == ETIMEDOUT);
	MUST(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &t) == ETIMEDOUT);
	MUST(pthread_rwlock_unlock(&l) == 0);
	MUST(pthread_rwlock_unlock(&l) == 0);
	MUST(pthread_rwlock_wrlock(&l) == 0);
	MUST(pthread_rwlock_timedrdlock(&l, &t) == EDEADLK);
	MUST(pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &t) == EDEADLK);
	MUST(pthread_rwlock_unlock(&l) == 0);
}

static void spinlocks(void)
{
	pthread_spinlock_t l;

	pthread_spin_init(&l, 0);
	MUST(pthread_spin_lock(&l) == 0);
	MUST(pthread_spin_trylock(&l) == EBUSY);
	MUST(pthread_spin_unlock(&l) == 0);
}

/* Held twice: a wait gives one of them back, and so does the thread that is woken. */
static void recursive_wait(void)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec t = past();

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&m, &a);
	MUST(pthread_mutex_lock(&m) == 0);
	MUST(pthread_mutex_lock(&m) == 0);
	MUST(pthread_cond_timedwait(&c, &m, &t) == ETIMEDOUT);
	MUST(pthread_mutex_unlock(&m) == 0);
	MUST(pthread_mutex_unlock(&m) == 0);
	MUST(pthread_mutex_destroy(&m) == 0); /* free */
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *take_turns(void *arg)
{
	pthread_mutex_lock(&mutex);
	for (int i = 1; i < 4; i += 2) {
		while (turn != i)
			pthread_cond_wait(&changed, &mutex);
		turn++;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void conditions(void)
{
	struct timespec t = past();
	pthread_t other;
	void *result;

	MUST(pthread_create(&other, 0, take_turns, &turn) == 0);
	pthread_mutex_lock(&mutex);
	MUST(pthread_cond_timedwait(&changed, &mutex, &t) == ETIMEDOUT);
	MUST(pthread_cond_clockwait(&changed, &mutex, CLOCK_MONOTONIC, &t) == ETIMEDOUT);
	for (int i = 0; i < 4; i += 2) {
		while (turn != i)
			pthread_cond_wait(&changed, &mutex);
		turn++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
	MUST(pthread_join(other, &result) == 0 && result == &turn);
	MUST(turn == 4);
}

/* A thread that is cancelled in its wait has the mutex again, and ends. */
static void unlock(void *m)
{
	pthread_mutex_unlock(m);
}

static void *wait_for_ever(void *started)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	sem_post(started);
	for (;;)
		pthread_cond_wait(&changed, &mutex);
	pthread_cleanup_pop(1);
	return 0;
}

static void cancellation(void)
{
	pthread_t other;
	void *result;
	sem_t started;

	sem_init(&started, 0, 0);
	MUST(pthread_create(&other, 0, wait_for_ever, &started) == 0);
	sem_wait(&started);
	MUST(pthread_cancel(other) == 0);
	MUST(pthread_join(other, &result) == 0 && result == PTHREAD_CANCELED);
	MUST(pthread_mutex_trylock(&mutex) == 0);
	pthread_mutex_unlock(&mutex);
}

static void semaphores(void)
{
	struct timespec t = past();
	sem_t s;

	sem_init(&s, 0, 1);
	MUST(sem_wait(&s) == 0);
	MUST(sem_trywait(&s) == -1 && errno == EAGAIN);
	MUST(sem_timedwait(&s, &t) == -1 && errno == ETIMEDOUT);
	MUST(sem_clockwait(&s, CLOCK_MONOTONIC, &t) == -1 && errno == ETIMEDOUT);
	MUST(sem_post(&s) == 0);
	MUST(sem_trywait(&s) == 0);
}

static void barriers(void)
{
	pthread_barrier_t b;

	pthread_barrier_init(&b, 0, 1);
	MUST(pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD);
}

static int initialised;

static void initialise(void)
{
	initialised++;
}

static void once(void)
{
	static pthread_once_t posix = PTHREAD_ONCE_INIT;
	static once_flag c11 = ONCE_FLAG_INIT;

	for (int i = 0; i < 2; i++) {
		MUST(pthread_once(&posix, initialise) == 0);
		call_once(&c11, initialise);
	}
	MUST(initialised == 2);
}

static int seven(void *arg)
{
	return *(int *)arg;
}

static void c11(void)
{
	struct timespec t = past();
	int sent = 7, result;
	thrd_t other;
	mtx_t m;
	cnd_t c;

	MUST(mtx_init(&m, mtx_timed) == thrd_success && cnd_init(&c) == thrd_success);
	MUST(mtx_lock(&m) == thrd_success);
	MUST(mtx_trylock(&m) == thrd_busy);
	MUST(mtx_timedlock(&m, &t) == thrd_timedout);
	MUST(cnd_timedwait(&c, &m, &t) == thrd_timedout);
	MUST(cnd_signal(&c) == thrd_success && cnd_broadcast(&c) == thrd_success);
	MUST(mtx_unlock(&m) == thrd_success);
	MUST(thrd_create(&other, seven, &sent) == thrd_success);
	MUST(thrd_join(other, &result) == thrd_success && result == 7);
}

static void futexes(void)
{
	const struct timespec t = { 0, 1 };
	uint32_t word = 1;

	MUST(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0) == -1 && errno == EAGAIN);
	MUST(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &t, 0, 0) == -1 &&
	     errno == ETIMEDOUT);
	MUST(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0) == 0);
	MUST(syscall(SYS_getpid) == getpid());
}

int main(void)
{
	mutexes();
	robust();
	rwlocks();
	spinlocks();
	recursive_wait();
	conditions();
	cancellation();
	semaphores();
	barriers();
	once();
	c11();
	futexes();
	return 0;
}
