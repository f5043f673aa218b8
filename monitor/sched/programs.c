/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "programs.h"
#include "../thread.h"
#include "shared.h"
#include <assert.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <overlock/sched_socket.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static_assert(OL_SLICE_PAGE_LAYOUT, "the ABI of the slice page");

#ifndef PIDFD_THREAD
#define PIDFD_THREAD	O_EXCL /* Linux 6.9 */
#endif

enum { SIGNALS, SOCKET, FIRST };

#define BYTES	(sizeof(struct sched_slot) * (ENTRIES + 1)) /* the header takes one's room */

static void begin_page(struct ol_slice_page *page)
{
	page->version = OL_SLICE_PAGE_VERSION;
	page->state = OL_SLICE_PAGE_TOLD;
	page->size = BYTES;
	page->first = page->stride = sizeof(struct sched_slot);
	page->entries = ENTRIES;
	page->lasting = page->late = INT64_MAX; /* what is over is taken back */
	__atomic_store_n(&page->magic, OL_SLICE_PAGE_MAGIC, __ATOMIC_RELEASE);
}

/* A file that nobody can make shorter, so that our writes find it. */
static int make_page(void **page)
{
	int fd = memfd_create("overlock-slices", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	*page = MAP_FAILED;
	if (!ftruncate(fd, BYTES) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		*page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*page == MAP_FAILED) {
		close(fd);
		return -1;
	}
	begin_page(*page);
	return fd;
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

static void welcome(struct programs *programs)
{
	int to = accept4(programs->fds[SOCKET].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), fd;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	void *page;

	if (to < 0)
		return;
	if (programs->n == FIRST + MOST_PROGRAMS ||
	    getsockopt(to, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
		programs->refused++;
		close(to);
		return;
	}
	fd = make_page(&page);
	if (fd >= 0 && hand_over(to, fd)) {
		programs->fds[programs->n] = (struct pollfd){ .fd = to, .events = POLLIN };
		programs->of[programs->n].process = peer.pid;
		programs->of[programs->n++].page = page;
		programs->connected++;
	} else {
		if (fd >= 0)
			munmap(page, BYTES);
		close(to);
	}
	if (fd >= 0)
		close(fd);
}

/* The kernel pins the memory that the pointer leads to, until the thread has ended. */
static bool lend(struct programs *programs, int process, int thread, struct sched_slot *slot)
{
	struct sched_place place = { .slot = slot };
	int fd = (int)syscall(SYS_pidfd_open, thread, PIDFD_THREAD), error;
	struct thread found;

	if (fd < 0)
		return false;
	*programs->any_place = true;
	error = !thread_find(&found, thread) || found.process != process ||
		bpf_map_update_elem(programs->places, &fd, &place, BPF_ANY);
	close(fd);
	return !error;
}

/* False once it has gone. */
static bool hear(struct programs *programs, nfds_t i)
{
	struct ol_sched_join join;
	ssize_t n = recv(programs->fds[i].fd, &join, sizeof(join), MSG_DONTWAIT);
	struct sched_slot *slots = programs->of[i].page;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n != sizeof(join))
		return false;
	if (join.entry < ENTRIES &&
	    lend(programs, programs->of[i].process, (int)join.thread, &slots[1 + join.entry]))
		programs->threads++;
	else
		programs->refused++;
	return true;
}

static void forget(struct programs *programs, nfds_t i)
{
	close(programs->fds[i].fd);
	munmap(programs->of[i].page, BYTES);
	programs->n--;
	programs->fds[i] = programs->fds[programs->n];
	programs->of[i] = programs->of[programs->n];
}

bool programs_serve(struct programs *programs, int ms)
{
	if (poll(programs->fds, programs->n, ms) <= 0)
		return false;
	if (programs->fds[SIGNALS].revents)
		return true;
	for (nfds_t i = programs->n; i-- > FIRST;)
		if (programs->fds[i].revents && !hear(programs, i))
			forget(programs, i);
	if (programs->fds[SOCKET].revents)
		welcome(programs);
	return false;
}

void programs_begin(struct programs *programs, int signals, int places, bool *any_place)
{
	programs->places = places;
	programs->any_place = any_place;
	programs->fds[SIGNALS] = (struct pollfd){ .fd = signals, .events = POLLIN };
	programs->fds[SOCKET] = (struct pollfd){ .fd = -1, .events = POLLIN }; /* poll() skips it */
	programs->n = FIRST;
}

bool programs_listen(struct programs *programs, const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	programs->fds[SOCKET].fd = fd;
	if (fd < 0)
		return false;
	if (strlen(path) >= sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	strcpy(at.sun_path, path);
	if (!strcmp(path, OL_SCHED_SOCKET))
		mkdir("/run/overlock", 0755);
	unlink(path); /* of one that was killed; the kernel has only one such scheduler at a time */
	return !bind(fd, (struct sockaddr *)&at, sizeof(at)) && !chmod(path, 0666) &&
	       !listen(fd, 64);
}

void programs_close(struct programs *programs, const char *path)
{
	while (programs->n > FIRST)
		forget(programs, programs->n - 1);
	if (programs->fds[SOCKET].fd < 0)
		return;
	close(programs->fds[SOCKET].fd);
	unlink(path);
}
