/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "page.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static_assert(OL_SLICE_PAGE_LAYOUT, "the ABI of the slice page");

/* A beat comes every BEAT_NS of main.c; on a busy host some are late. */
#define LASTING_NS	2000000000ull
/* Some ticks of the slowest timer: whose end has passed for longer goes on for reasons of its own. */
#define LATE_NS		40000000ull

uint64_t page_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A device's memory is a power of two, and whole pages. */
static size_t size_for(unsigned entries)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	while (size < sizeof(struct ol_slice_page) + entries * sizeof(struct ol_slice_entry))
		size *= 2;
	return size;
}

static bool map_file(struct page *page, int fd, size_t least)
{
	struct stat found;

	if (fstat(fd, &found))
		return false;
	if ((size_t)found.st_size < least) {
		if (ftruncate(fd, (off_t)least))
			return false;
		found.st_size = (off_t)least;
	}
	page->size = (size_t)found.st_size;
	page->owner = found.st_uid;
	page->memory = mmap(NULL, page->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return page->memory != MAP_FAILED;
}

static void store_state(struct page *page, uint32_t state)
{
	__atomic_store_n(&page->memory->state, state, __ATOMIC_RELEASE);
}

/*
 * Unknown, and whole: whoever wrote before us may have been stopped half-way. The fence keeps what is
 * written behind the odd number, the release keeps it before the even one; the reader acquires.
 */
static void forget(struct ol_slice_entry *e)
{
	uint32_t seq = e->seq | 1;

	__atomic_store_n(&e->seq, seq, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memset((char *)e + sizeof(e->seq), 0, sizeof(*e) - sizeof(e->seq));
	__atomic_store_n(&e->seq, seq + 1, __ATOMIC_RELEASE);
}

static void forget_all(struct page *page)
{
	for (unsigned i = 0; i < page->entries; i++)
		forget(page_entry(page, i));
}

/* O_CREAT alone is refused for files of others in such folders as /dev/shm. */
static int open_or_make(const char *path)
{
	const int how = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
	int fd = open(path, how);

	return fd < 0 && errno == ENOENT ? open(path, how | O_CREAT | O_EXCL, 0600) : fd;
}

bool page_open(struct page *page, const char *path, unsigned entries)
{
	int fd = open_or_make(path);
	struct ol_slice_page *p;
	bool done;
	int why;

	if (fd < 0)
		return false;
	done = map_file(page, fd, size_for(entries));
	why = errno;
	close(fd);
	errno = why;
	if (!done)
		return false;
	p = page->memory;
	page->entries = entries;
	store_state(page, OL_SLICE_PAGE_MADE);
	p->version = OL_SLICE_PAGE_VERSION;
	p->size = (uint32_t)page->size;
	p->first = sizeof(*p);
	p->stride = sizeof(struct ol_slice_entry);
	p->entries = entries;
	p->lasting = LASTING_NS;
	p->late = LATE_NS;
	forget_all(page);
	__atomic_store_n(&p->magic, OL_SLICE_PAGE_MAGIC, __ATOMIC_RELEASE);
	return true;
}

void page_beat(struct page *page)
{
	__atomic_store_n(&page->memory->beat, page_now(), __ATOMIC_RELAXED);
}

void page_begin(struct page *page)
{
	page_beat(page);
	store_state(page, OL_SLICE_PAGE_TOLD);
}

void page_over(struct page *page)
{
	store_state(page, OL_SLICE_PAGE_OVER);
	forget_all(page);
}

void page_close(struct page *page)
{
	munmap(page->memory, page->size);
}

struct ol_slice_entry *page_entry(struct page *page, unsigned i)
{
	return (struct ol_slice_entry *)((char *)page->memory + sizeof(struct ol_slice_page)) + i;
}

bool page_copy(struct page *page, unsigned i, const struct ol_slice_entry *from, uint32_t *last)
{
	uint32_t seq = __atomic_load_n(&from->seq, __ATOMIC_ACQUIRE);
	struct ol_slice_entry *to = page_entry(page, i), copy;

	if (seq & 1 || seq == *last)
		return false; /* next time, or nothing new */
	memcpy(&copy, from, sizeof(copy));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&from->seq, __ATOMIC_RELAXED) != seq)
		return false;
	copy.published = page_now();
	/* Orders as in forget(); `from` was read as ol_slice_read() does. */
	__atomic_store_n(&to->seq, seq - 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy((char *)to + sizeof(to->seq), (char *)&copy + sizeof(copy.seq),
	       sizeof(copy) - sizeof(copy.seq));
	__atomic_store_n(&to->seq, seq, __ATOMIC_RELEASE);
	*last = seq;
	return true;
}
