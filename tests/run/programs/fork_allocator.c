/* SPDX-License-Identifier: MIT */
/*
 * An allocator that takes its mutex around forks, and registers the handlers when malloc() is first
 * called. If our own start is what calls it, its handlers can come before ours. Prints how many children
 * of a contended process can allocate.
 */
#include "room.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, CHILDREN = 40 };

static pthread_mutex_t arena = PTHREAD_MUTEX_INITIALIZER;
static int handled, stop;
static void *volatile got; /* what the compiler knows to be unused it does not allocate */

static void lock(void)
{
	pthread_mutex_lock(&arena);
}

static void unlock(void)
{
	pthread_mutex_unlock(&arena);
}

/* From the beginning again when the room is used up: the threads do not use what they get. */
void *malloc(size_t size)
{
	void *p;

	lock();
	if (!handled++)
		pthread_atfork(lock, unlock, unlock);
	if (used + size + 16 > sizeof(room))
		used = sizeof(room) / 2; /* what was allocated first is kept */
	p = take(size);
	unlock();
	return p;
}

void free(void *p)
{
	(void)p;
}

static void *allocate(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		got = malloc(16);
	return unused;
}

static int child_returns(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		got = malloc(16);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

int main(void)
{
	static char buffer[BUFSIZ];
	pthread_t threads[THREADS];
	int returned = 0;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], 0, allocate, 0))
			return 2;
	while (returned < CHILDREN && child_returns())
		returned++;
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	printf("children that returned: %d of %d\n", returned, CHILDREN);
	return 0;
}
