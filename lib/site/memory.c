/* SPDX-License-Identifier: MIT */
/* Memory straight from the kernel: malloc may be what takes the lock. */
#include "../bare.h"
#include "../text.h"
#include "sites.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct chunk {
	struct chunk *next;
	size_t size, used;
};

#define CHUNK	OL_LIVE_BLOCK

enum { LIVE_MOST = 2 * PATH_MAX }; /* with the name, of a folder shorter than PATH_MAX */

/* The file that others may read records from; site.h. */
struct live {
	uint64_t size;
	char *head; /* its first block, which others read for as long as it is there */
	char name[];
};
static struct live *live; /* null: none, or not yet */
static char *live_folder; /* null: none is wanted */

static struct live *live_make(void);

/* A forked child makes its file with its first record: most become another program before. */
static struct live *live_file(void)
{
	struct live *l = ol_load_acquire(&live), *made;

	if (l || !live_folder)
		return l;
	made = live_make();
	if (!made || ol_cas_acq_rel(&live, l, made)) /* with what is in it */
		return made;
	unlink(made->name); /* another thread was faster */
	munmap(made->head, CHUNK);
	munmap(made, LIVE_MOST);
	return ol_load_acquire(&live);
}

/*
 * A block of the file, which thereby grows; MAP_FAILED if there is none. The file is not kept open:
 * programs close descriptors that they do not know, and use their numbers again.
 */
static void *live_block(void)
{
	struct live *l = live_file();
	void *block = MAP_FAILED;
	uint64_t at;
	int fd;

	if (!l)
		return block;
	at = ol_add_relaxed(&l->size, (uint64_t)CHUNK);
	fd = ol_bare_open(l->name, O_RDWR | O_CLOEXEC, 0);
	if (fd >= 0 && ol_bare_reserve(fd, at, CHUNK))
		block = mmap(0, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
	if (fd >= 0)
		ol_bare_close(fd);
	return block;
}

static struct chunk *chunk_make(size_t size, bool for_records)
{
	struct chunk *c = MAP_FAILED;

	if (for_records)
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

/* The objects that the process has mapped: names of its call sites are looked up after it has ended. */
static void tell_maps(char *head)
{
	int maps = ol_bare_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	char *to = head + OL_LIVE_MAPS, *end = head + CHUNK;
	ssize_t n = 1;

	while (maps >= 0 && to < end && n > 0 &&
	       (n = ol_bare_read(maps, to, (size_t)(end - to))) > 0)
		to += n;
	if (maps >= 0)
		ol_bare_close(maps);
}

static uint64_t pid_space(void)
{
	struct stat space;

	return stat("/proc/self/ns/pid", &space) ? 0 : space.st_ino;
}

static bool begin_file(struct live *l, int fd)
{
	l->size = CHUNK;
	l->head = MAP_FAILED;
	if (ol_bare_reserve(fd, 0, CHUNK))
		l->head = mmap(0, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (l->head == MAP_FAILED)
		return false;
	l->head[0] = ol_sites_know_slices() ? 's' : '-';
	memcpy(l->head + OL_LIVE_SPACE, &(uint64_t){ pid_space() }, sizeof(uint64_t));
	tell_maps(l->head);
	return true;
}

/* The first FOLDER/PID.N that is not there: a process that becomes another by exec has as many. */
static int create(char *name)
{
	char *end = stpcpy(name, live_folder);
	int fd = -1;

	*end++ = '/';
	end = ol_text_number(end, (uint64_t)getpid());
	*end++ = '.';
	for (unsigned n = 0; fd < 0 && (!n || errno == EEXIST); n++) {
		ol_text_number(end, n);
		fd = ol_bare_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	return fd;
}

/* Null, with errno, if there is none to be had. No stdio: a fork's child may hold malloc's lock. */
static struct live *live_make(void)
{
	struct live *l =
		mmap(0, LIVE_MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = l == MAP_FAILED ? -1 : create(l->name), saved;
	bool fine = fd >= 0 && begin_file(l, fd);

	saved = errno;
	if (fd >= 0)
		ol_bare_close(fd);
	if (!fine && l != MAP_FAILED)
		munmap(l, LIVE_MOST);
	errno = saved;
	return fine ? l : 0;
}

void ol_sites_reported(void)
{
	if (live)
		live->head[1] = 'r';
}

/* The parent's file stays mapped, since a lock may be at work there. */
void ol_live_renew(void)
{
	live = 0;
}

void ol_live_start(void)
{
	const char *folder = secure_getenv("OVERLOCK_LIVE");

	if (!folder || !*folder)
		return;
	if (strlen(folder) < PATH_MAX)
		live_folder = strdup(folder); /* the program may change its environment */
	else
		errno = ENAMETOOLONG;
	if (live_folder && live_file())
		return;
	dprintf(STDERR_FILENO, "overlock: OVERLOCK_LIVE=%s ignored: %s\n", folder, strerror(errno));
	free(live_folder);
	live_folder = 0;
}
