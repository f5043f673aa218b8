/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "service.h"
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

int service_signals(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN); /* nobody may listen any more: readers are told all the same */
	signal(SIGXFSZ, SIG_IGN); /* a limit of files' sizes is an error like any other */
	return signalfd(-1, &ends, SFD_CLOEXEC);
}

/* Also those that came with the file, or from systemd: they do not go with root. */
static bool drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capset, &head, none);
}

/* To be ended with our parent is forgotten by the kernel meanwhile. */
bool service_give_up_root(uid_t user)
{
	pid_t parent = getppid();
	int with_parent = 0;

	prctl(PR_GET_PDEATHSIG, &with_parent);
	if (!geteuid() && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			   setresuid(user, user, user)))
		return false;
	if (!drop_capabilities() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return false;
	if (!with_parent)
		return true;
	prctl(PR_SET_PDEATHSIG, with_parent);
	if (getppid() != parent)
		raise(with_parent);
	return true;
}
