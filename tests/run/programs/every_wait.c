/* SPDX-License-Identifier: MIT */
/*
 * Each kind of wait once, for long enough that a waiter sleeps. A call that fails, close(-4242), says in a trace where
 * the program begins.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 3, LONG_US = 30000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static bool is_over;

static void *wait(void *unused)
{
	pthread_spin_lock(&spinlock);
	pthread_spin_unlock(&spinlock);
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	pthread_mutex_lock(&mutex);
	while (!is_over)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

int main(void)
{
	pthread_t thread[THREADS];

	syscall(SYS_close, -4242);
	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_lock(&spinlock);
	pthread_rwlock_wrlock(&rwlock);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], 0, wait, 0))
			return 1;
	usleep(LONG_US);
	pthread_spin_unlock(&spinlock);
	usleep(LONG_US);
	pthread_rwlock_unlock(&rwlock);
	usleep(LONG_US);
	pthread_mutex_unlock(&mutex);
	usleep(LONG_US);
	pthread_mutex_lock(&mutex);
	is_over = true;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], 0);
	return 0;
}
