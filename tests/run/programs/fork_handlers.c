/* SPDX-License-Identifier: MIT */
/*
 * An allocator whose mutex is held around forks. Moves the folder FROM to TO, forks as often as it is told, and
 * prints how many children could allocate. WITHOUT: the children lock nothing.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t arena = PTHREAD_MUTEX_INITIALIZER;
static char room[1 << 20] __attribute__((aligned(16)));
static size_t used;
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
	p = room + used;
	used += (size + 15) / 16 * 16;
	unlock();
	return used <= sizeof(room) ? p : 0;
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t n, size_t size)
{
	return malloc(n * size); /* never used again, so all zero */
}

void *realloc(void *old, size_t size)
{
	void *p = malloc(size);

	if (old && p)
		memmove(p, old, size < (size_t)(room + sizeof(room) - (char *)old) ? size : 0);
	return p;
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
