/* SPDX-License-Identifier: MIT */
/*
 * Filters of system calls (seccomp). One that is there at start is tried in a child, which it may end. One that the
 * program installs later may end a thread that yields, and cannot be found out: from then on no thread yields.
 */
#include "spins.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <overlock/port.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OURS __attribute__((visibility("default")))

/* In the parent's memory, while the parent waits; without libc. */
static int try_it(void *unused)
{
	(void)unused;
	syscall(SYS_exit, syscall(SYS_sched_getscheduler, 0) < 0 || syscall(SYS_sched_yield));
	return 0;
}

bool ol_spins_may_yield(void)
{
	static char stack[4096] __attribute__((aligned(16)));
	int status = 1, saved = errno;
	pid_t child;

	if (prctl(PR_GET_SECCOMP) == SECCOMP_MODE_DISABLED)
		return true;
	/* It sends no signal when it ends, so the program notices nothing. */
	child = clone(try_it, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, 0);
	if (child < 0 || waitpid(child, &status, __WCLONE) != child)
		status = 1;
	errno = saved;
	return status == 0;
}

/* All its arguments are as wide as a register, and the kernel ignores those that it does not use. */
OURS int prctl(int option, ...)
{
	static int (*real)(int, ...);
	unsigned long a[4];
	va_list list;

	va_start(list, option);
	for (unsigned k = 0; k < 4; k++)
		a[k] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_SECCOMP)
		ol_spins_stop_yielding();
	/* Relaxed: each thread finds the same. */
	if (!ol_load_relaxed(&real))
		ol_store_relaxed(&real, (__typeof__(real))dlsym(RTLD_NEXT, "prctl"));
	return ol_load_relaxed(&real)(option, a[0], a[1], a[2], a[3]);
}

/* enter.S: syscall(), which may return twice, or on another stack, and so must not return to us. */
long (*ol_spins_real_syscall)(long, ...);

void ol_spins_before_syscall(long number, long operation)
{
	if (number == SYS_seccomp && operation != SECCOMP_GET_ACTION_AVAIL)
		ol_spins_stop_yielding();
	/* Relaxed: each thread finds the same. */
	if (!ol_load_relaxed(&ol_spins_real_syscall))
		ol_store_relaxed(&ol_spins_real_syscall,
				 (__typeof__(ol_spins_real_syscall))dlsym(RTLD_NEXT, "syscall"));
}
