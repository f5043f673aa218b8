/* SPDX-License-Identifier: MIT */
#ifndef LENT_H
#define LENT_H
/*
 * Memory of the kernel's, as the interposer takes it, from malloc(): AddressSanitizer then sees each
 * look beyond a file or a table, and what is kept for good is given back after each input.
 */
#include "must.h"

#include <sys/mman.h>
#include <unistd.h>

struct lent {
	struct lent *next;
	void *at;
};

static struct lent *all_lent;

static void *lend(size_t size)
{
	struct lent *one = calloc(1, sizeof(*one));

	must(one, "there is no memory");
	one->at = calloc(1, size);
	if (!one->at) {
		free(one);
		return MAP_FAILED;
	}
	one->next = all_lent;
	all_lent = one;
	return one->at;
}

static void *lent_map(size_t size, int fd)
{
	void *p = lend(size);

	must(p == MAP_FAILED || fd < 0 || pread(fd, p, size, 0) == (ssize_t)size,
	     "there is no file");
	return p;
}

static int give_back(void *p)
{
	for (struct lent **at = &all_lent; *at; at = &(*at)->next) {
		struct lent *one = *at;

		if (one->at != p)
			continue;
		*at = one->next;
		free(one->at);
		free(one);
		return 0;
	}
	must(false, "memory is given back that was not taken");
	return -1;
}

static inline void *lent_grown(void *p, size_t old, size_t size)
{
	void *more = lend(size);

	if (more == MAP_FAILED)
		return more;
	memcpy(more, p, old);
	give_back(p);
	return more;
}

static inline void give_all_back(void)
{
	while (all_lent)
		give_back(all_lent->at);
}

#define mmap(at, size, access, flags, fd, offset) lent_map(size, fd)
#define mremap(at, old, size, flags)		  lent_grown(at, old, size)
#define munmap(at, size)			  give_back(at)
#endif
