// SPDX-License-Identifier: MIT
// A program whose malloc() takes a mutex of its own, as allocators do: whoever allocates while that
// mutex gets its lock comes back to it, without end.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t arena = PTHREAD_MUTEX_INITIALIZER;
static char room[1 << 24] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t size)
{
	static _Thread_local int inside;
	void *p;

	if (inside++)
		_exit(3);
	pthread_mutex_lock(&arena);
	inside = 0;
	p = room + used;
	used += (size + 15) / 16 * 16;
	pthread_mutex_unlock(&arena);
	return used <= sizeof(room) ? p : 0;
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t n, size_t size)
{
	return malloc(n * size); // never used again, so all zero
}

void *realloc(void *old, size_t size)
{
	void *p = malloc(size);

	if (old && p)
		memmove(p, old, size < (size_t)(room + sizeof(room) - (char *)old) ? size : 0);
	return p;
}

static void *allocate(void *unused)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(16));
	return unused;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, allocate, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	puts("fine");
}
