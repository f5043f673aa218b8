/* SPDX-License-Identifier: MIT */
#ifndef OL_BARE_H
#define OL_BARE_H
/*
 * System calls as the kernel has them. libc's functions of these names are cancellation points: a thread with a
 * cancellation pending would end in them, in the midst of a lock, and whatever it holds would stay locked. Whoever may
 * be called by a thread that waits, releases or has just forked uses these. They set errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static inline int ol_bare_open(const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline ssize_t ol_bare_read(int fd, void *to, size_t size)
{
	return syscall(SYS_read, fd, to, size);
}

static inline ssize_t ol_bare_write(int fd, const void *from, size_t size)
{
	return syscall(SYS_write, fd, from, size);
}

/* Where a file system cannot reserve room: a byte in each of the smallest blocks. What is there is all zeros. */
static inline bool ol_bare_fill(int fd, uint64_t from, uint64_t size)
{
	for (uint64_t at = from; at < from + size; at += 512)
		if (syscall(SYS_pwrite64, fd, "", 1, (off_t)at) != 1)
			return false;
	return syscall(SYS_pwrite64, fd, "", 1, (off_t)(from + size - 1)) == 1;
}

/* Within the limit of files' sizes, beyond which SIGXFSZ would kill us. */
static inline bool ol_bare_may_grow(uint64_t size)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_FSIZE, &most) || size <= most.rlim_cur)
		return true;
	errno = EFBIG;
	return false;
}

/*
 * Room in a file, which grows, for what is mapped there and not yet written; false if there is none. In a file that
 * only has its length a full disk would kill us (SIGBUS).
 */
static inline bool ol_bare_reserve(int fd, uint64_t from, uint64_t size)
{
	if (!ol_bare_may_grow(from + size))
		return false;
	if (!syscall(SYS_fallocate, fd, 0, (off_t)from, (off_t)size))
		return true;
	return (errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM) &&
	       ol_bare_fill(fd, from, size);
}

static inline int ol_bare_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static inline int ol_bare_connect(int fd, const struct sockaddr *to, socklen_t size)
{
	return (int)syscall(SYS_connect, fd, to, size);
}

static inline ssize_t ol_bare_receive(int from, struct msghdr *message, int flags)
{
	return syscall(SYS_recvmsg, from, message, flags);
}

static inline ssize_t ol_bare_send(int to, const void *from, size_t size, int flags)
{
	return syscall(SYS_sendto, to, from, size, flags, 0, 0);
}

/* Whether a write would be taken at once. */
static inline bool ol_bare_takes(int fd)
{
	struct pollfd asked = { .fd = fd, .events = POLLOUT };

	return syscall(SYS_ppoll, &asked, 1, &(struct timespec){ 0 }, 0, 0) == 1 &&
	       asked.revents == POLLOUT;
}

static inline void ol_bare_sleep(const struct timespec *time)
{
	syscall(SYS_nanosleep, time, 0);
}
#endif
