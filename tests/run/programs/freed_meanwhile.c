/* SPDX-License-Identifier: MIT */
/*
 * While one thread walks from waiter to waiter, another one's wait ends, and it frees the mutex. The checked
 * library is built to call walked() where it knows a waiter's mutex and has not read it yet.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IN_TIME_MS = 1000 }; /* a wait that the walk holds up does not end meanwhile */

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, *second;
static pthread_t holder, waiter;
static pthread_barrier_t begun;
static int told, may_end, freed;

/* The thread that holds `first` waits for `second`, and frees it. */
static void *hold(void *unused)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&begun);
	pthread_mutex_lock(second);
	pthread_mutex_unlock(second);
	pthread_mutex_destroy(second);
	munmap(second, sizeof(*second));
	__atomic_store_n(&freed, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&first);
	return unused;
}

static void *wait(void *unused)
{
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
	return unused;
}

static void until(const int *happens)
{
	while (!__atomic_load_n(happens, __ATOMIC_SEQ_CST))
		usleep(1000);
}

/* First the holder tells of its own wait, then the waiter, whose walk comes past it. */
void walked(const void *m)
{
	if (m != second)
		return;
	if (pthread_equal(pthread_self(), holder)) {
		__atomic_store_n(&told, 1, __ATOMIC_SEQ_CST);
	} else if (pthread_equal(pthread_self(), waiter)) {
		__atomic_store_n(&may_end, 1, __ATOMIC_SEQ_CST);
		for (int ms = 0; ms < IN_TIME_MS && !__atomic_load_n(&freed, __ATOMIC_SEQ_CST);
		     ms++)
			usleep(1000);
	}
}

int main(void)
{
	second = mmap(0, sizeof(*second), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	pthread_mutex_lock(second);
	pthread_barrier_init(&begun, 0, 2);
	pthread_create(&holder, 0, hold, 0);
	pthread_barrier_wait(&begun);
	until(&told);
	pthread_create(&waiter, 0, wait, 0);
	until(&may_end);
	pthread_mutex_unlock(second);
	pthread_join(waiter, 0);
	pthread_join(holder, 0);
	puts("ended");
	return 0;
}
