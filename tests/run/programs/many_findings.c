/* SPDX-License-Identifier: MIT */
/* Ends while a thread misuses a mutex at one place after another: each is a finding of its own. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned found;

#define ONE		pthread_mutex_unlock(&mutex), __atomic_add_fetch(&found, 1, __ATOMIC_RELAXED);
#define TEN		ONE ONE ONE ONE ONE ONE ONE ONE ONE ONE
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void *misuse(void *unused)
{
	HUNDRED HUNDRED return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, 0, misuse, 0);
	while (__atomic_load_n(&found, __ATOMIC_RELAXED) < 5)
		sched_yield();
	puts("ended");
	return 0;
}
