/* SPDX-License-Identifier: MIT */
/*
 * Seccomp filters that are in force before the program starts. Waiting makes calls that glibc's mutexes do
 * not make, and a filter may end a program for them: then in the midst of its work. So where there is a
 * filter, a child that has nothing to lose makes these calls first.
 */
#include "interposer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* As we make them, or so that they fail. */
static const struct call {
	const char *name;
	long number, args[2];
} calls[] = {
	{ "sched_yield", SYS_sched_yield, { 0 } },
	{ "sched_getscheduler", SYS_sched_getscheduler, { 0 } },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, { 0 } },
	{ "sched_getaffinity", SYS_sched_getaffinity, { 0 } },
	{ "sched_getattr", SYS_sched_getattr, { 0 } }, /* from here on: lib/knowledge.c */
	{ "prctl", SYS_prctl, { 79, 1 } },
};
enum { CALLS = sizeof(calls) / sizeof(*calls) };

static bool is_filtered(void)
{
	char status[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, status, sizeof(status) - 1);

	if (fd >= 0)
		close(fd);
	status[n > 0 ? n : 0] = 0;
	return strstr(status, "\nSeccomp:\t2") != 0;
}

/* How many of the calls a child survives. Its memory is ours, and it makes nothing but system calls. */
static unsigned survived(void)
{
	volatile unsigned made = 0;
	pid_t pid = vfork(); /* NOLINT(bugprone-unsafe-functions) */

	if (!pid) {
		for (; made < CALLS; made++)
			/* NOLINTNEXTLINE(clang-analyzer-unix.Vfork) */
			syscall(calls[made].number, calls[made].args[0], calls[made].args[1], 0, 0,
				0);
		_exit(0);
	}
	if (pid < 0)
		return CALLS; /* not to be found out */
	waitpid(pid, 0, 0);
	return made;
}

/* Of those with this priority the linker puts ours before the library's, which makes some of the calls. */
__attribute__((constructor(101))) static void try_calls(void)
{
	int saved = errno;
	unsigned made = is_filtered() ? survived() : CALLS;
	char why[200];

	errno = saved;
	if (made == CALLS)
		return;
	snprintf(why, sizeof(why),
		 "a seccomp filter ends programs that call %s; allow it, or run without overlock",
		 calls[made].name);
	ol_run_refuse("sandbox", why);
}
