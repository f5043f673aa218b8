/* SPDX-License-Identifier: MIT */
/*
 * A signal is for those who wait when it comes. A real-time thread that begins to wait while the
 * signal is under way is woken before them, and must not keep the wake-up.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static bool first_may_go, late_may_go;

static void *wait_for(void *may_go)
{
	pthread_mutex_lock(&m);
	while (!*(bool *)may_go)
		pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
	return 0;
}

static void *signal_first(void *unused)
{
	pthread_mutex_lock(&m);
	first_may_go = true;
	pthread_mutex_unlock(&m);
	pthread_cond_signal(&c);
	return unused;
}

static pthread_t start_real_time(void *(*body)(void *), void *arg)
{
	struct sched_param priority = { .sched_priority = 1 };
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &priority);
	if (pthread_create(&thread, &attr, body, arg)) {
		puts("may not start a real-time thread");
		exit(0);
	}
	return thread;
}

int main(void)
{
	pthread_t first, signaller, late;

	alarm(300);
	pthread_create(&first, 0, wait_for, &first_may_go);
	usleep(50000);
	pthread_create(&signaller, 0, signal_first, 0);
	usleep(50000);
	late = start_real_time(wait_for, &late_may_go);
	pthread_join(first, 0);
	puts("the first was woken");
	pthread_join(signaller, 0);
	pthread_mutex_lock(&m);
	late_may_go = true;
	pthread_mutex_unlock(&m);
	pthread_cond_broadcast(&c);
	pthread_join(late, 0);
	return 0;
}
