/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "page.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static_assert(OL_SLICE_PAGE_LAYOUT, "the ABI of the slice page");

/* A beat comes every BEAT_NS of main.c; on a busy host some are late. */
#define LASTING_NS	2000000000ull
/* Some ticks of the slowest timer: whose end has passed for longer goes on for reasons of its own. */
#define LATE_NS		40000000ull

/* More than any guest's vCPUs need, and little enough to be looked through. */
#define MOST_BYTES	(1u << 20)

uint64_t page_now(const struct page *page)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + page->shift;
}

/* Some decades at the least, so that no time is OL_SLICE_UNKNOWN, and half of what wraps at the most. */
static bool choose_shift(struct page *page)
{
	uint64_t chosen;

	if (getrandom(&chosen, sizeof(chosen), 0) != sizeof(chosen))
		return false;
	page->shift = (chosen >> 3) + (1ull << 61);
	return true;
}

/* A device's memory is a power of two, and whole pages. */
static size_t size_for(unsigned entries)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	while (size < sizeof(struct ol_slice_page) + entries * sizeof(struct ol_slice_entry))
		size *= 2;
	return size;
}

static void store_state(struct page *page, uint32_t state)
{
	__atomic_store_n(&page->memory->state, state, __ATOMIC_RELEASE);
}

/*
 * Unknown, and whole: the previous writer may have been stopped half-way. The fence keeps what is
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

/* The file: it may be anybody's, and root would write to it. */

#define REFUSE(page, ...) (snprintf((page)->why, sizeof((page)->why), __VA_ARGS__), false)

static bool all_zero(const unsigned char *bytes, size_t n)
{
	return !n || (!bytes[0] && !memcmp(bytes, bytes + 1, n - 1));
}

bool page_is_free(const void *bytes, size_t size)
{
	struct ol_slice_page head;

	if (all_zero(bytes, size))
		return true;
	if (size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	return head.magic == OL_SLICE_PAGE_MAGIC && head.version == OL_SLICE_PAGE_VERSION &&
	       head.size == size && head.first == sizeof(head) &&
	       head.stride == sizeof(struct ol_slice_entry) && head.entries &&
	       head.entries <= (size - sizeof(head)) / sizeof(struct ol_slice_entry);
}

static bool check_access(struct page *page, const struct stat *found, uid_t user)
{
	if (S_ISLNK(found->st_mode))
		return REFUSE(page, "it is a symbolic link; name the file itself");
	if (!S_ISREG(found->st_mode))
		return REFUSE(page,
			      "it is no regular file; name one, or one that is still to be made");
	if (found->st_nlink != 1)
		return REFUSE(
			page,
			"it has %lu names instead of 1; remove the others, or take another file",
			(unsigned long)found->st_nlink);
	if (found->st_uid != geteuid() && found->st_uid != user)
		return REFUSE(
			page,
			"it belongs to user %u instead of %u (ours) or %u (the threads'); chown it",
			found->st_uid, geteuid(), user);
	if (found->st_mode & S_IWOTH)
		return REFUSE(page, "everybody may write to it; chmod o-w it");
	return true;
}

static bool check_size(struct page *page, off_t bytes)
{
	const size_t least = size_for(page->entries), size = (size_t)bytes;

	page->size = size ? size : least;
	if (page->size >= least && page->size <= MOST_BYTES && !(page->size & (page->size - 1)))
		return true;
	return REFUSE(
		page,
		"it has %zu bytes instead of a power of two from %zu to %u; truncate -s %zu it",
		size, least, MOST_BYTES, least);
}

/* Read, not mapped: it can still be truncated. */
static bool check_content(struct page *page)
{
	unsigned char *bytes = calloc(1, page->size);
	ssize_t got = bytes ? pread(page->fd, bytes, page->size, 0) : -1;
	bool free_to_use = got >= 0 && page_is_free(bytes, page->size);

	free(bytes);
	if (got < 0)
		return REFUSE(page, "%s", strerror(errno));
	if (!free_to_use)
		return REFUSE(page, "it holds something else than a slice page; remove it, or take "
				    "another file");
	return true;
}

/*
 * No link is followed, in no folder of the path: the owner of a folder on the way could lead us to a
 * file that only we may write to.
 */
static int open_at(const char *path, uint64_t flags, uint64_t mode)
{
	const struct open_how how = { .flags = flags | O_CLOEXEC | O_NOFOLLOW,
				      .mode = mode,
				      .resolve = RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* By way of O_PATH, because to open a device can do something already. */
static bool open_existing(struct page *page, int at, uid_t user)
{
	struct stat found;
	char path[64];

	if (fstat(at, &found))
		return REFUSE(page, "%s", strerror(errno));
	if (!check_access(page, &found, user))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	page->fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (page->fd < 0)
		return REFUSE(page, "%s", strerror(errno));
	if (flock(page->fd, LOCK_EX | LOCK_NB))
		return REFUSE(page, "another overlock-hostd writes to it; end that first");
	page->owner = found.st_uid;
	return !fstat(page->fd, &found) && check_size(page, found.st_size) && check_content(page);
}

static bool make(struct page *page, const char *path)
{
	page->size = size_for(page->entries);
	page->owner = geteuid();
	page->fd = open_at(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (page->fd < 0 || flock(page->fd, LOCK_EX | LOCK_NB))
		return REFUSE(page, "%s", strerror(errno));
	return true;
}

static bool open_or_make(struct page *page, const char *path, uid_t user)
{
	int at = open_at(path, O_PATH, 0);
	bool done;

	if (at < 0 && errno == ELOOP)
		return REFUSE(page, "a folder of its path is a symbolic link; name it as "
				    "`realpath` does");
	if (at < 0 && errno != ENOENT)
		return REFUSE(page, "%s", strerror(errno));
	if (at < 0)
		return make(page, path);
	done = open_existing(page, at, user);
	close(at);
	return done;
}

/* All of it exists from now on: a full file system is noticed here, and not by a signal. */
static bool map_file(struct page *page)
{
	if (fallocate(page->fd, 0, 0, (off_t)page->size) &&
	    (errno != EOPNOTSUPP || ftruncate(page->fd, (off_t)page->size)))
		return REFUSE(page, "%s", strerror(errno));
	page->memory = mmap(NULL, page->size, PROT_READ | PROT_WRITE, MAP_SHARED, page->fd, 0);
	return page->memory != MAP_FAILED || REFUSE(page, "%s", strerror(errno));
}

/*
 * Somebody else can truncate the file: what we write then raises SIGBUS. Memory of our own takes its
 * place, so that the write succeeds, and page_lost() tells.
 */
static struct page *guarded;
static volatile sig_atomic_t lost;

static void put_memory_there(int number, siginfo_t *info, void *context)
{
	const char *at = info->si_addr, *begin = (const char *)guarded->memory;

	(void)context;
	if (info->si_code > 0 && at >= begin && at < begin + guarded->size &&
	    mmap(guarded->memory, guarded->size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == guarded->memory) {
		lost = 1;
		return;
	}
	signal(number, SIG_DFL); /* it is none of the page's */
	raise(number);
}

static void guard(struct page *page)
{
	const struct sigaction action = { .sa_sigaction = put_memory_there,
					  .sa_flags = SA_SIGINFO };

	guarded = page;
	sigaction(SIGBUS, &action, NULL);
}

/*
 * A file that was truncated, and is large again, has other memory than what we told the kernel to write
 * to. It begins with zeros. Its readers can write them, too, and deceive only themselves.
 */
bool page_lost(const struct page *page)
{
	struct stat found;

	return __atomic_load_n(&page->memory->magic, __ATOMIC_RELAXED) != OL_SLICE_PAGE_MAGIC ||
	       lost || fstat(page->fd, &found) || (size_t)found.st_size < page->size;
}

static void write_header(struct page *page)
{
	struct ol_slice_page *p = page->memory;

	store_state(page, OL_SLICE_PAGE_MADE);
	p->version = OL_SLICE_PAGE_VERSION;
	p->size = (uint32_t)page->size;
	p->first = sizeof(*p);
	p->stride = sizeof(struct ol_slice_entry);
	p->entries = page->entries;
	p->beat = 0; /* by a clock that is no more */
	p->lasting = LASTING_NS;
	p->late = LATE_NS;
	forget_all(page);
	__atomic_store_n(&p->magic, OL_SLICE_PAGE_MAGIC, __ATOMIC_RELEASE);
}

bool page_open(struct page *page, const char *path, unsigned entries, uid_t user, bool shifted)
{
	*page = (struct page){ .entries = entries, .fd = -1 };
	if (shifted && !choose_shift(page))
		return REFUSE(page, "there is no randomness: %s", strerror(errno));
	if (!open_or_make(page, path, user) || !map_file(page))
		return false;
	guard(page);
	write_header(page);
	return !page_lost(page) || REFUSE(page, "somebody truncated it meanwhile");
}

void page_beat(struct page *page)
{
	__atomic_store_n(&page->memory->beat, page_now(page), __ATOMIC_RELAXED);
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
	close(page->fd);
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
	copy.published = page_now(page);
	/* Orders as in forget(); `from` was read as ol_slice_read() does. */
	__atomic_store_n(&to->seq, seq - 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy((char *)to + sizeof(to->seq), (char *)&copy + sizeof(copy.seq),
	       sizeof(copy) - sizeof(copy.seq));
	__atomic_store_n(&to->seq, seq, __ATOMIC_RELEASE);
	*last = seq;
	return true;
}
