/* SPDX-License-Identifier: MIT */
#ifndef ROOM_H
#define ROOM_H
/* An allocator that never uses memory again, but for the program's own malloc() and free(). */
#include <stdlib.h>
#include <string.h>

static char room[1 << 22] __attribute__((aligned(16)));
static size_t used;

/* Null: there is no more. */
static void *take(size_t size)
{
	size_t at = __atomic_fetch_add(&used, (size + 15) / 16 * 16, __ATOMIC_RELAXED);

	return at + size <= sizeof(room) ? room + at : 0;
}

void *calloc(size_t n, size_t size)
{
	void *p = malloc(n * size);

	return p ? memset(p, 0, n * size) : 0;
}

void *realloc(void *old, size_t size)
{
	void *p = malloc(size);

	if (old && p)
		memmove(p, old, size < (size_t)(room + sizeof(room) - (char *)old) ? size : 0);
	return p;
}
#endif
