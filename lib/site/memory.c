/* SPDX-License-Identifier: MIT */
/* Memory straight from the kernel: malloc may be what takes the lock. */
#include "sites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct chunk {
	struct chunk *next;
	size_t size, used;
};

#define CHUNK	OL_LIVE_BLOCK

static char live_name[512]; /* the file that others may read records from; site.h; empty: none */
static uint64_t live_size;

/*
 * A block of the file, which thereby grows; MAP_FAILED if there is none. The file is not kept open:
 * programs close descriptors that they do not know, and use their numbers again.
 */
static void *live_block(void)
{
	uint64_t at = ol_add_relaxed(&live_size, (uint64_t)CHUNK);
	int fd = open(live_name, O_RDWR | O_CLOEXEC);
	void *block = MAP_FAILED;

	if (fd >= 0 && pwrite(fd, "", 1, (off_t)(at + CHUNK - 1)) == 1)
		block = mmap(0, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
	if (fd >= 0)
		close(fd);
	return block;
}

static struct chunk *chunk_make(size_t size, bool for_records)
{
	struct chunk *c = MAP_FAILED;

	if (for_records && *live_name)
		c = live_block();
	if (c == MAP_FAILED)
		c = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c == MAP_FAILED)
		return 0;
	c->size = size;
	c->used = sizeof(*c);
	return c;
}

/* All zero; null if there is none. */
static void *take_from(struct chunk **chunks, size_t size, bool for_records)
{
	struct chunk *c = *chunks;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (!c || c->size - c->used < size) {
		c = chunk_make(size + sizeof(*c) > CHUNK ? size + sizeof(*c) : CHUNK, for_records);
		if (!c)
			return 0;
		c->next = *chunks;
		*chunks = c;
	}
	p = (char *)c + c->used;
	c->used += size;
	return p;
}

void *ol_site_memory(struct chunk **chunks, size_t size)
{
	return take_from(chunks, size, false);
}

void *ol_site_record_memory(struct chunk **chunks, size_t size)
{
	return take_from(chunks, size, true);
}

void ol_chunks_free(struct chunk *c)
{
	for (struct chunk *next; c; c = next) {
		next = c->next;
		munmap(c, c->size);
	}
}

/* One file per program: a process that becomes another by exec has as many. */
void ol_live_start(void)
{
	const char *folder = secure_getenv("OVERLOCK_LIVE");
	bool fine;
	int fd = -1;

	if (!folder || !*folder)
		return;
	for (unsigned n = 0; fd < 0 && n < 1000; n++) {
		snprintf(live_name, sizeof(live_name), "%s/%ld.%u", folder, (long)getpid(), n);
		fd = open(live_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	live_size = CHUNK;
	fine = fd >= 0 && pwrite(fd, ol_sites_know_slices() ? "s" : "-", 1, 0) == 1;
	if (!fine) {
		dprintf(STDERR_FILENO, "overlock: OVERLOCK_LIVE=%s ignored: %s\n", folder,
			strerror(errno));
		*live_name = 0;
	}
	if (fd >= 0)
		close(fd);
}
