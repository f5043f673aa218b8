/* SPDX-License-Identifier: MIT */
/*
 * The terminal, as threads may write to it that hold locks, or wait for one in its queue: without waiting
 * for its reader, and without being stopped by it.
 */
#include "interposer.h"

#include "bare.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <termios.h>

int ol_run_terminal_open(void)
{
	return ol_bare_open("/dev/tty", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0);
}

/* A terminal that wants silence from all but its foreground. */
static bool is_silenced(int fd)
{
	struct termios modes;
	pid_t foreground;

	if (tcgetattr(fd, &modes) || !(modes.c_lflag & TOSTOP))
		return false;
	foreground = tcgetpgrp(fd);
	return foreground >= 0 && foreground != getpgrp();
}

/* A write to a socket or a pipe that others hold too may wait although we asked: not if the call itself says. */
static ssize_t write_now(int fd, const char *text, size_t size)
{
	ssize_t n = ol_bare_send(fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0 || errno != ENOTSOCK)
		return n;
	return ol_bare_takes(fd) ? ol_bare_write(fd, text, size) : -1;
}

size_t ol_run_write_at_once(int fd, const char *text, size_t size)
{
	int saved = errno;
	sigset_t stops, before;
	ssize_t n;

	if (is_silenced(fd))
		return 0;
	/* It may be silenced since we looked. */
	sigemptyset(&stops);
	sigaddset(&stops, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &stops, &before);
	n = write_now(fd, text, size);
	pthread_sigmask(SIG_SETMASK, &before, 0);
	errno = saved;
	return n > 0 ? (size_t)n : 0;
}
