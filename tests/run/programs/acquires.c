/* SPDX-License-Identifier: MIT */
/* Acquires a mutex in every way, and prints how often it had it. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static int after_trylock(void)
{
	int n = 0;

	if (!pthread_mutex_trylock(&mutex)) {
		n += 1 + !pthread_mutex_trylock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return n;
}

static int after_timedlock(void)
{
	struct timespec soon;
	int n = 0;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec = soon.tv_nsec < 990000000 ? soon.tv_nsec + 1000000 : soon.tv_nsec;
	if (!pthread_mutex_timedlock(&mutex, &soon)) {
		n += 1 + !pthread_mutex_timedlock(&mutex, &soon);
		n += pthread_cond_timedwait(&never, &mutex, &soon) == ETIMEDOUT;
		pthread_mutex_unlock(&mutex);
	}
	return n;
}

static void *again(void *n)
{
	pthread_mutex_lock(&mutex);
	++*(int *)n;
	pthread_mutex_unlock(&mutex);
	return 0;
}

int main(void)
{
	pthread_t waiter;
	int n = 0;

	again(&n);
	n += after_trylock() + after_timedlock();
	pthread_mutex_lock(&mutex);
	n++;
	pthread_create(&waiter, 0, again, &n);
	nanosleep(&(struct timespec){ 0, 20000000 }, 0);
	pthread_mutex_unlock(&mutex);
	pthread_join(waiter, 0);
	printf("%d\n", n);
	return 0;
}
