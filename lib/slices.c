/* SPDX-License-Identifier: MIT */
/*
 * The slice page of this process, if `overlock sched` schedules it, or `overlock monitord` watches it: what
 * either publishes of each thread, and each thread's hints to the scheduler. An entry has the number of the
 * thread's id (ol_self()).
 *
 * The page is the scheduler's word, or the monitor's, and a hint all the same: nothing that must be correct
 * depends on it. Once the publisher exits (the kernel flags a kill), the page is ignored.
 *
 * A thread joins within its first wait for a lock: hence the bare calls (bare.h).
 */
#include "bare.h"
#include "internal.h"
#include "slices.h"

#include <errno.h>
#include <fcntl.h>
#include <overlock/sched_socket.h>
#include <overlock/slice_reader.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WAIT_US	50000 /* for the page */

enum { JOIN_STEP_NS = 500000, JOIN_MOST_NS = 100000000 };

/* Who was silent for as long as we wait is not asked again before: neither by us nor by forked children. */
static const uint64_t AGAIN_NS = 60000000000;
static uint64_t *silent_since; /* shared with those; null: nobody was asked yet */

static struct {
	struct ol_slice_map map; /* page null: there is none */
	enum ol_teller teller;
	int socket;
	dev_t device; /* the socket's, which a program may close and have another of its number */
	ino_t inode;
} told;

static OL_THREAD_LOCAL struct {
	const struct ol_slice_entry *entry; /* null: not yet joined */
	struct ol_slice_words *words;
	uint32_t thread;
	uint32_t deferring; /* how many sections deep */
	uint64_t end_ns;    /* converted: */
	ol_ticks_t end;
} me;

static void begin_silence(void)
{
	static uint64_t ours; /* which only later children see */
	void *memory;

	if (silent_since)
		return;
	memory = mmap(0, sizeof(*silent_since), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	silent_since = memory == MAP_FAILED ? &ours : memory;
}

static void note_silence(void)
{
	ol_store_relaxed(silent_since, ol_clock());
}

static bool is_silent(void)
{
	const uint64_t since = ol_load_relaxed(silent_since);

	return since && ol_clock() - since < AGAIN_NS;
}

static int received(int from)
{
	char byte;
	struct iovec data = { &byte, 1 };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.room) };
	struct cmsghdr *head;
	int fd = -1;

	if (ol_bare_receive(from, &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

/* A page that was truncated would kill us when we look: the scheduler seals its own. */
static bool map_page(int fd)
{
	struct stat found;
	void *memory;

	if (fstat(fd, &found) || !(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK))
		return false;
	memory = mmap(0, (size_t)found.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return false;
	if (ol_slice_map_open(&told.map, memory, (uint64_t)found.st_size) &&
	    told.map.stride >= sizeof(struct ol_slice_entry) + sizeof(struct ol_slice_words))
		return true;
	told.map.page = 0;
	munmap(memory, (size_t)found.st_size);
	return false;
}

/* A queue that is full is a silence too. */
static bool connected(int fd, const char *path)
{
	const struct timeval wait = { 0, WAIT_US }, at_once = { 0, 1 };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const size_t n = strlen(path);
	socklen_t size = sizeof(at);

	if (n >= sizeof(at.sun_path))
		return false;
	memcpy(at.sun_path, path, n);
	if (*path == '@') {
		at.sun_path[0] = 0;
		size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	}
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &at_once, sizeof(at_once)))
		return false;
	return !ol_bare_connect(fd, (struct sockaddr *)&at, size);
}

/* Returns the socket if a page came through it, else -1. */
static int ask(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), page = -1;
	bool mapped = false;

	if (fd < 0)
		return -1;
	errno = 0;
	if (connected(fd, path))
		page = received(fd);
	if (page < 0 && errno == EAGAIN)
		note_silence();
	if (page >= 0) {
		mapped = map_page(page);
		ol_bare_close(page);
	}
	if (mapped)
		return fd;
	ol_bare_close(fd);
	return -1;
}

/* The program may have closed it, and have another of its number. */
static bool is_ours(void)
{
	struct stat found;

	return told.teller && !fstat(told.socket, &found) && found.st_dev == told.device &&
	       found.st_ino == told.inode;
}

static bool find_page(const char *variable, const char *preset)
{
	const char *given = secure_getenv(variable);
	const char *path = given && *given ? given : preset;
	struct stat found;

	if (*path != '@' && access(path, F_OK))
		return false;
	begin_silence();
	told.socket = is_silent() ? -1 : ask(path);
	if (told.socket < 0 || fstat(told.socket, &found))
		return false;
	told.device = found.st_dev;
	told.inode = found.st_ino;
	return true;
}

/* A child closes its parent's socket, which else stays connected for as long as the child lives. */
enum ol_teller ol_slices_start(bool scheduler, bool monitor)
{
	int saved = errno;

	if (is_ours())
		ol_bare_close(told.socket);
	memset(&me, 0, sizeof(me));
	told.map.page = 0;
	told.teller = OL_NOBODY_TELLS;
	if (scheduler && find_page("OVERLOCK_SCHED", OL_SCHED_SOCKET))
		told.teller = OL_SCHEDULER_TELLS;
	else if (monitor && find_page("OVERLOCK_MONITOR", OL_MONITOR_SOCKET))
		told.teller = OL_MONITOR_TELLS;
	errno = saved;
	return told.teller;
}

/* Only once the publisher has gone, not where there never was a page. */
static bool gone(void)
{
	return ol_load_relaxed(&told.map.page->teller) & OL_SLICE_TELLER_GONE;
}

bool ol_slices_told(void)
{
	return told.map.page && !gone();
}

static const struct ol_slice_entry *entry_of(uint32_t id)
{
	return told.map.page && id ? ol_slice_entry(&told.map, id) : 0;
}

/* False if the socket is full: to be said again. */
static bool say(uint32_t id)
{
	struct ol_sched_join join = { me.thread, id };
	int saved = errno;
	bool full =
		is_ours() &&
		ol_bare_send(told.socket, &join, sizeof(join), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		errno == EAGAIN;

	errno = saved;
	return !full;
}

static bool is_known(void)
{
	return ol_load_relaxed(&me.entry->thread) == me.thread && ol_load_relaxed(&me.entry->id);
}

/*
 * A thread that enters a queue before it knows its slice may lose its CPU there, and a queue with such a
 * waiter does not dissolve while the lock is in demand. So the first time takes until the scheduler's
 * program has had a CPU.
 */
static void wait_to_be_known(void)
{
	const struct timespec step = { 0, JOIN_STEP_NS };
	const uint64_t until = ol_clock() + JOIN_MOST_NS;
	int saved = errno;

	while (!is_known() && ol_clock() < until)
		ol_bare_sleep(&step);
	if (!is_known())
		note_silence();
	errno = saved;
}

void ol_slices_join(uint32_t id)
{
	const struct ol_slice_entry *entry = entry_of(id);

	if (!entry || me.entry)
		return;
	me.thread = (uint32_t)syscall(SYS_gettid);
	me.words = (struct ol_slice_words *)(uintptr_t)(entry + 1);
	memset(me.words, 0, sizeof(*me.words));
	if (!say(id))
		return;
	me.entry = entry;
	if (told.teller == OL_SCHEDULER_TELLS && !is_silent())
		wait_to_be_known();
}

void ol_slices_leave(void)
{
	me.entry = 0;
}

/* Ours, once the scheduler knows us; the entry may still be that of a thread that had our id. */
static bool known(void)
{
	if (OL_UNLIKELY(!told.map.page))
		return false;
	if (OL_UNLIKELY(!me.entry))
		ol_slices_join(ol_self());
	return me.entry && is_known() && !gone();
}

bool ol_slices_id(uint64_t *id)
{
	if (!known())
		return false;
	*id = ol_load_relaxed(&me.entry->id);
	return true;
}

/* By both clocks now, once for each end that is told: our ticks may be another clock's. */
static ol_ticks_t ticks_at(uint64_t ns)
{
	int64_t left;

	if (ns == me.end_ns)
		return me.end;
	left = (int64_t)(ns - ol_clock());
	me.end = left < 0 ? ol_now() - ol_ticks_from_ns((uint64_t)-left)
			  : ol_now() + ol_ticks_from_ns((uint64_t)left);
	me.end_ns = ns;
	return me.end;
}

bool ol_slices_end(ol_ticks_t *end)
{
	struct ol_slice_entry e;

	if (!known() || !ol_slice_read(me.entry, &e) || e.end == OL_SLICE_UNKNOWN)
		return false;
	*end = e.end == OL_SLICE_NO_END ? OL_NEVER : ticks_at(e.end);
	return true;
}

/* What the scheduler tells it keeps. */
ol_ticks_t ol_slice_min(void)
{
	struct ol_slice_entry e;

	if (!known() || !ol_slice_read(me.entry, &e) || e.sure == OL_SLICE_UNKNOWN)
		return OL_NEVER;
	return ticks_at(e.sure);
}

bool ol_is_preempted(uint32_t id)
{
	const struct ol_slice_entry *e = entry_of(id);

	return e && ol_load_relaxed(&e->running) == OL_SLICE_OFF && ol_load_relaxed(&e->id) &&
	       !gone();
}

/* A monitor only watches. */
static bool listens(void)
{
	return told.teller == OL_SCHEDULER_TELLS && known();
}

/* The word stands while the scheduler chooses. */
void ol_slices_name(uint32_t id)
{
	const struct ol_slice_entry *e = entry_of(id);

	if (e && listens())
		ol_store_relaxed(&me.words->waits_for, ol_load_relaxed(&e->thread));
}

void ol_slices_unname(void)
{
	if (me.entry)
		ol_store_relaxed(&me.words->waits_for, 0u);
}

bool ol_slices_defer_begin(void)
{
	if (!listens())
		return false;
	if (!me.deferring++)
		ol_store_relaxed(&me.words->defer, 1u);
	return true;
}

/* What was granted is given back as soon as it is not needed. */
void ol_slices_defer_end(void)
{
	int saved;

	if (!me.deferring)
		return;
	me.deferring--;
	if (me.deferring || !me.entry)
		return;
	ol_store_relaxed(&me.words->defer, 0u);
	if (!OL_UNLIKELY(ol_load_relaxed(&me.words->granted)))
		return;
	ol_store_relaxed(&me.words->granted, 0u);
	saved = errno;
	sched_yield();
	errno = saved;
}
