/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "programs.h"
#include "slot.h"
#include "thread.h"
#include <assert.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <overlock/sched_socket.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static_assert(OL_SLICE_PAGE_LAYOUT, "the ABI of the slice page");
static_assert(OL_SLICE_TELLER_GONE == FUTEX_OWNER_DIED, "the ABI of robust futexes");
static_assert(MOST_PROGRAMS < ROBUST_LIST_LIMIT, "the kernel looks at no more");

#ifndef PIDFD_THREAD
#define PIDFD_THREAD	O_EXCL /* Linux 6.9 */
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77 /* Linux 6.5 */
#endif

#define BYTES	(sizeof(struct ol_slot) * (ENTRIES + 1)) /* the header takes one's room */

/*
 * A page: a file that nobody can make shorter, so that our writes find it. Its word `teller` is a robust
 * futex of ours: if we are killed, the kernel marks it, and readers believe nothing any more. The list of
 * these is in memory before the pages, which no program sees, and which is shared so that the kernel does
 * not take it away before the list is read when it ends us for want of memory.
 */

static size_t before_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static struct ol_slice_page *page_of(const struct robust_list *memory)
{
	return (struct ol_slice_page *)(void *)((char *)memory + before_page());
}

static bool begin_list(struct programs *programs)
{
	struct robust_list_head *head = mmap(NULL, sizeof(*head), PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (head == MAP_FAILED)
		return false;
	head->list.next = &head->list;
	head->futex_offset = (long)(before_page() + offsetof(struct ol_slice_page, teller));
	programs->pages = head;
	return !syscall(SYS_set_robust_list, head, sizeof(*head));
}

static void enlist(struct programs *programs, struct robust_list *memory)
{
	memory->next = programs->pages->list.next;
	__atomic_store_n(&programs->pages->list.next, memory, __ATOMIC_RELEASE);
}

static void delist(struct programs *programs, const struct robust_list *memory)
{
	struct robust_list *before = &programs->pages->list;

	while (before->next != memory)
		before = before->next;
	before->next = memory->next;
}

static void begin_page(struct ol_slice_page *page)
{
	page->version = OL_SLICE_PAGE_VERSION;
	page->state = OL_SLICE_PAGE_TOLD;
	page->size = BYTES;
	page->first = page->stride = sizeof(struct ol_slot);
	page->entries = ENTRIES;
	page->lasting = page->late = INT64_MAX; /* what is over is taken back */
	page->teller = (__u32)gettid();
	__atomic_store_n(&page->magic, OL_SLICE_PAGE_MAGIC, __ATOMIC_RELEASE);
}

static struct robust_list *map_page(int fd)
{
	const size_t before = before_page();
	char *at = mmap(NULL, before + BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (mmap(at + before, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		munmap(at, before + BYTES);
		return NULL;
	}
	return (struct robust_list *)(void *)at;
}

/* Its file, or -1. */
static int make_page(struct robust_list **memory)
{
	int fd = memfd_create("overlock-slices", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	*memory = NULL;
	if (!ftruncate(fd, BYTES) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		*memory = map_page(fd);
	if (!*memory) {
		close(fd);
		return -1;
	}
	begin_page(page_of(*memory));
	return fd;
}

static void unmap_page(struct robust_list *memory)
{
	munmap(memory, before_page() + BYTES);
}

static bool hand_over(int to, int fd)
{
	char byte = 0;
	struct iovec data = { &byte, 1 };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.room) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/* Who has connected. */

/*
 * All user ids that a login can come by, by user namespaces and set-user-ID files, share what it may have. The
 * kernel's audit keeps the login; services have none.
 */
static uid_t account_of(const struct program *program)
{
	const uid_t none = (uid_t)-1;
	char path[64], text[16] = "";
	uid_t login;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/loginuid", program->process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return program->user;
	if (read(fd, text, sizeof(text) - 1) <= 0 || sscanf(text, "%10u", &login) != 1)
		login = none;
	close(fd);
	return login == none ? program->user : login;
}

static bool ask_peer(int socket, struct program *program)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0)
		return false; /* no id: it is outside of our PID namespace */
	size = sizeof(program->pidfd);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &program->pidfd, &size))
		return false;
	program->process = peer.pid;
	program->user = peer.uid;
	program->group = peer.gid;
	program->account = account_of(program);
	return true;
}

/* Nobody may have more places than are left, so that there is always one for somebody else. */
static bool has_room(const struct programs *programs, uid_t account)
{
	unsigned theirs = 0;

	for (unsigned i = 0; i < programs->n; i++)
		theirs += programs->of[i].account == account;
	return theirs < MOST_PROGRAMS - programs->n;
}

static struct pollfd *fds_of(struct programs *programs, unsigned i)
{
	return &programs->fds[FIRST + 2 * i];
}

/* On the list before anybody has it: we may be killed in between. */
static bool admit(struct programs *programs, int socket, struct program program)
{
	struct pollfd *fds = fds_of(programs, programs->n);
	int fd = has_room(programs, program.account) ? make_page(&program.memory) : -1;
	bool given;

	if (fd < 0)
		return false;
	enlist(programs, program.memory);
	given = hand_over(socket, fd);
	close(fd);
	if (!given) {
		delist(programs, program.memory);
		unmap_page(program.memory);
		return false;
	}
	fds[0] = (struct pollfd){ .fd = socket, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = program.pidfd, .events = POLLIN };
	programs->of[programs->n++] = program;
	return true;
}

/* False once nobody waits. */
static bool welcome(struct programs *programs)
{
	int to = accept4(programs->fds[SOCKET].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct program program = { .pidfd = -1 };

	if (to < 0)
		return false;
	if (ask_peer(to, &program) && admit(programs, to, program)) {
		programs->connected++;
		return true;
	}
	programs->refused++;
	if (program.pidfd >= 0)
		close(program.pidfd);
	close(to);
	return true;
}

/* Its threads. */

static bool lives(const struct program *program)
{
	struct pollfd end = { .fd = program->pidfd, .events = POLLIN };

	return !poll(&end, 1, 0);
}

/*
 * Is it a thread of the process that has connected, and could that process's user look into it? /proc gives
 * its files, but not its folder, to root once it has started a set-user-ID program. The process lives afterwards, so what we
 * looked at was no later one of the same number.
 */
static bool may_name(const struct program *program, int thread)
{
	struct stat found;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", program->process, thread);
	return !stat(path, &found) && found.st_uid == program->user &&
	       found.st_gid == program->group && lives(program);
}

/*
 * The kernel pins the memory that the pointer leads to, until the thread has ended. What the thread may
 * have become meanwhile is looked at once more.
 */
static bool lend(const struct programs *programs, const struct program *program, int thread,
		 struct ol_slot *slot, __u32 name)
{
	char place[MOST_PLACE] = { 0 };
	int fd = thread > 0 ? (int)syscall(SYS_pidfd_open, thread, PIDFD_THREAD) : -1;
	bool lent = false;

	if (fd < 0)
		return false;
	if (programs->any_place)
		*programs->any_place = true;
	memcpy(place, &slot, sizeof(slot));
	if (may_name(program, thread)) {
		slot->entry.thread = name;
		lent = !bpf_map_update_elem(programs->places, &fd, place, BPF_ANY);
	}
	if (lent && !may_name(program, thread)) {
		bpf_map_delete_elem(programs->places, &fd);
		lent = false;
	}
	close(fd);
	return lent;
}

static void lend_named(struct programs *programs, const struct program *program, int thread)
{
	struct ol_slot *slots = (struct ol_slot *)(void *)page_of(program->memory);

	if (lend(programs, program, thread, &slots[1 + program->named.entry],
		 program->named.thread))
		programs->threads++;
	else
		programs->refused++;
}

/* In another PID namespace it takes many steps. Meanwhile the program's further messages wait. */
static void search(struct programs *programs, unsigned i)
{
	struct program *program = &programs->of[i];
	const bool begins = !program->search;
	const int thread = thread_named(program->process, program->named.thread, &program->search);

	if (begins && program->search)
		programs->searching++;
	else if (!begins && !program->search)
		programs->searching--;
	fds_of(programs, i)->events = program->search ? 0 : POLLIN;
	if (!program->search)
		lend_named(programs, program, thread);
}

/* False once it has gone, or says what no program of ours does. */
static bool hear(struct programs *programs, unsigned i)
{
	struct program *program = &programs->of[i];
	const struct pollfd *fds = fds_of(programs, i);
	ssize_t n;

	if (program->search)
		return !(fds->revents & (POLLHUP | POLLERR));
	n = recv(fds->fd, &program->named, sizeof(program->named), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n != sizeof(program->named))
		return false;
	if (program->named.entry < ENTRIES)
		search(programs, i);
	else
		programs->refused++;
	return true;
}

/* What may still be written to the page is not to be believed. */
static void forget(struct programs *programs, unsigned i)
{
	struct program *program = &programs->of[i];
	struct pollfd *fds = fds_of(programs, i), *last = fds_of(programs, programs->n - 1);

	__atomic_store_n(&page_of(program->memory)->teller, OL_SLICE_TELLER_GONE, __ATOMIC_RELEASE);
	delist(programs, program->memory);
	unmap_page(program->memory);
	if (program->search) {
		closedir(program->search);
		programs->searching--;
	}
	close(fds[0].fd);
	close(fds[1].fd);
	fds[0] = last[0];
	fds[1] = last[1];
	*program = programs->of[--programs->n];
}

/* Turns: each kind of work has its time in each, so that a program that makes much of one keeps no others waiting. */

static const uint64_t WELCOME_NS = 5000000, HEAR_NS = 5000000, SEARCH_NS = 2000000;

static uint64_t in_ns(uint64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + ns;
}

static void welcome_all(struct programs *programs)
{
	const uint64_t until = in_ns(WELCOME_NS);

	while (welcome(programs) && in_ns(0) < until)
		;
}

/* One message of each. */
static void hear_all(struct programs *programs)
{
	const uint64_t until = in_ns(HEAR_NS);

	for (unsigned left = programs->n; left && in_ns(0) < until; left--) {
		const unsigned i = programs->heard % programs->n;
		const struct pollfd *fds = fds_of(programs, i);

		programs->heard = i + 1;
		if (!fds[1].revents && (!fds[0].revents || hear(programs, i)))
			continue;
		forget(programs, i);
		programs->heard = i; /* the last one is there now */
	}
}

/* At least one of the searching threads. */
static void search_all(struct programs *programs)
{
	const uint64_t until = in_ns(SEARCH_NS);

	while (programs->searching && programs->n) {
		const unsigned i = programs->searched % programs->n;

		programs->searched = i + 1;
		if (!programs->of[i].search)
			continue;
		search(programs, i);
		if (in_ns(0) >= until)
			return;
	}
}

bool programs_serve(struct programs *programs, int ms)
{
	const int wait = programs->searching ? 0 : ms;

	if (poll(programs->fds, FIRST + 2 * (nfds_t)programs->n, wait) < 0)
		return false;
	if (programs->fds[SIGNALS].revents)
		return true;
	hear_all(programs);
	if (programs->fds[SOCKET].revents)
		welcome_all(programs);
	search_all(programs);
	return false;
}

bool programs_begin(struct programs *programs, int signals, int places)
{
	struct rlimit files;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max; /* two for each program */
		setrlimit(RLIMIT_NOFILE, &files);
	}
	programs->places = places;
	programs->fds[SIGNALS] = (struct pollfd){ .fd = signals, .events = POLLIN };
	programs->fds[SOCKET] = (struct pollfd){ .fd = -1, .events = POLLIN }; /* poll() skips it */
	return begin_list(programs);
}

/* Its length; 0 and errno if the path is too long. */
static socklen_t address_of(struct sockaddr_un *at, const char *path)
{
	const size_t n = strlen(path);

	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (n >= sizeof(at->sun_path)) {
		errno = ENAMETOOLONG;
		return 0;
	}
	memcpy(at->sun_path, path, n);
	if (*path != '@')
		return sizeof(*at);
	at->sun_path[0] = 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

/* Does another one listen there? If none does, what was left by one that was killed is in the way. */
static bool taken(const struct sockaddr_un *at, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool answered = fd >= 0 && (!connect(fd, (const struct sockaddr *)at, size) ||
				    errno == EAGAIN); /* too many wait there */

	if (fd >= 0)
		close(fd);
	return answered;
}

/* False, and errno, if something else is there, which stays. */
static bool remove_socket(const char *path)
{
	struct stat found;

	if (lstat(path, &found))
		return errno == ENOENT;
	if (S_ISSOCK(found.st_mode))
		return !unlink(path);
	errno = EEXIST;
	return false;
}

/* For all users from the beginning: a path that is changed later may lead to another file by then. */
static bool bind_for_all(int fd, const struct sockaddr_un *at, socklen_t size)
{
	const mode_t before = umask(0111);
	const bool bound = !bind(fd, (const struct sockaddr *)at, size);
	const int saved = errno;

	umask(before);
	errno = saved;
	return bound;
}

static void make_folder(void)
{
	const mode_t before = umask(0);

	mkdir(OL_RUN_FOLDER, 0755);
	umask(before);
}

bool programs_listen(struct programs *programs, const char *path)
{
	struct sockaddr_un at;
	socklen_t size = address_of(&at, path);
	const bool named = *path != '@';
	int fd = size ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;

	if (fd < 0)
		return false;
	programs->fds[SOCKET].fd = fd;
	programs->socket = path;
	if (taken(&at, size)) {
		errno = EADDRINUSE;
		return false;
	}
	if (!strncmp(path, OL_RUN_FOLDER "/", sizeof(OL_RUN_FOLDER)))
		make_folder();
	if (named && !remove_socket(path))
		return false;
	return bind_for_all(fd, &at, size) && !listen(fd, 1024);
}

void programs_close(struct programs *programs)
{
	while (programs->n)
		forget(programs, programs->n - 1);
	if (programs->fds[SOCKET].fd < 0)
		return;
	close(programs->fds[SOCKET].fd);
	if (*programs->socket != '@')
		remove_socket(programs->socket);
}
