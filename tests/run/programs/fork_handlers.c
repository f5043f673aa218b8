/* SPDX-License-Identifier: MIT */
/*
 * An allocator whose mutex is held around forks. Moves the folder FROM to TO, forks as often as it is told, and
 * prints how many children could allocate. WITHOUT: the children lock nothing.
 */
#include "room.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t arena = PTHREAD_MUTEX_INITIALIZER;
static void *volatile got; /* what the compiler knows to be unused it does not allocate */

static void lock(void)
{
	pthread_mutex_lock(&arena);
}

static void unlock(void)
{
	pthread_mutex_unlock(&arena);
}

void *malloc(size_t size)
{
	void *p;

	lock();
	p = take(size);
	unlock();
	return p;
}

void free(void *p)
{
	(void)p;
}

static int child_returns(int allocates)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		alarm(20); /* ends only what hangs */
		if (allocates)
			got = malloc(16);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

int main(int argc, char **argv)
{
	int allocates = argc < 5, children = argc > 3 ? atoi(argv[3]) : 1, returned = 0;

	if (argc > 2 && rename(argv[1], argv[2]))
		return 2;
	if (allocates)
		pthread_atfork(lock, unlock, unlock);
	for (int i = 0; i < children; i++)
		returned += child_returns(allocates);
	printf("%d of %d\n", returned, children);
	return 0;
}
