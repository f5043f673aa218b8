/* SPDX-License-Identifier: MIT */
/*
 * deny SYSCALL ERRNO [--after-start] [--anonymous] [--below PATH]... [--nth N] -- PROGRAM...
 *
 * Runs a program and its children under a seccomp filter by which one system call fails.
 *
 * An ERRNO of KILL ends the program instead, and goes alone. By DELAY the call is late, and does not fail.
 *
 *	--after-start	once one of them has said so: prctl(DENY_FROM_NOW), for which started.c is preloaded
 *	--anonymous	mmap only of no file
 *	--below PATH	openat only of files there
 *	--nth N		only the Nth of these calls; if there are fewer, and the program ended well, exit code 78
 *
 * Plain denials are the kernel's own. What needs more than a filter sees, which is the call's numbers,
 * goes through a notification to this process. Exit code 77: this kernel, or its guard, has no such filter.
 */
#include "deny.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USAGE = 2, LACKING = 77, FEWER = 78, MOST_PATHS = 4 };

#define CALL(name) { #name, SYS_##name }
static const struct call {
	const char *name;
	int number;
} calls[] = {
	CALL(bpf),
	CALL(clone),
	CALL(clone3),
	CALL(close),
	CALL(connect),
	CALL(fallocate),
	CALL(fcntl),
	CALL(ftruncate),
	CALL(futex),
	CALL(getcpu),
	CALL(getrandom),
	CALL(getrusage),
	CALL(gettid),
	CALL(madvise),
	CALL(membarrier),
	CALL(memfd_create),
	CALL(mmap),
	CALL(mprotect),
	CALL(munmap),
	CALL(nanosleep),
	CALL(newfstatat),
	CALL(openat),
	CALL(perf_event_open),
	CALL(pidfd_open),
	CALL(ppoll),
	CALL(prctl),
	CALL(prlimit64),
	CALL(read),
	CALL(recvmsg),
	CALL(rseq),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(rt_sigtimedwait),
	CALL(sched_getaffinity),
	CALL(sched_getattr),
	CALL(sched_getscheduler),
	CALL(sched_setaffinity),
	CALL(sched_setscheduler),
	CALL(sched_yield),
	CALL(setpriority),
	CALL(setsockopt),
	CALL(set_robust_list),
	CALL(sigaltstack),
	CALL(signalfd4),
	CALL(socket),
	CALL(write),
#ifdef SYS_rename /* where there are more than the calls that end in at */
	CALL(rename),
	CALL(unlink),
#endif
};

enum { KILL = 4096, DELAY }; /* larger than any errno */

#define DELAY_US 20000

#define ERROR(name) { #name, name }
static const struct call errors[] = {
	ERROR(DELAY),  ERROR(EACCES), ERROR(EAGAIN), ERROR(EINVAL), ERROR(EIO),	 ERROR(EMFILE),
	ERROR(ENOMEM), ERROR(ENOSPC), ERROR(ENOSYS), ERROR(EPERM),  ERROR(KILL),
};

static struct {
	int call, error;
	bool after_start, anonymous;
	const char *below[MOST_PATHS];
	unsigned paths;
	unsigned long nth; /* 0: all */
} asked;
static unsigned long n_calls;

static _Noreturn void fail(int code, const char *what)
{
	fprintf(stderr, "deny: %s: %s\n", what, errno ? strerror(errno) : "wrong argument");
	exit(code);
}

static int number_of(const struct call *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return list[i].number;
	fail(USAGE, name);
}
#define NUMBER_OF(list, name) number_of(list, sizeof(list) / sizeof(*(list)), name)

static char **read_arguments(char **words)
{
	if (!words[1] || !words[2])
		fail(USAGE, "deny SYSCALL ERRNO -- PROGRAM");
	asked.call = NUMBER_OF(calls, words[1]);
	asked.error = NUMBER_OF(errors, words[2]);
	for (words += 3; *words && strcmp(*words, "--"); words++) {
		if (!strcmp(*words, "--after-start"))
			asked.after_start = true;
		else if (!strcmp(*words, "--anonymous"))
			asked.anonymous = true;
		else if (!strcmp(*words, "--below") && words[1] && asked.paths < MOST_PATHS)
			asked.below[asked.paths++] = *++words;
		else if (!strcmp(*words, "--nth") && words[1])
			asked.nth = strtoul(*++words, NULL, 10);
		else
			fail(USAGE, *words);
	}
	if (!*words || !words[1])
		fail(USAGE, "-- PROGRAM");
	return words + 1;
}

/* The listener; -1 where none is needed. */
static int filter(bool listens)
{
	const uint32_t then = asked.error == KILL ? SECCOMP_RET_KILL_PROCESS
			      : listens		  ? SECCOMP_RET_USER_NOTIF
						  : SECCOMP_RET_ERRNO | (uint32_t)asked.error;
	const uint32_t told_by = listens ? SYS_prctl : UINT32_MAX; /* which is no call */
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)asked.call, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, told_by, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DENY_FROM_NOW, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, then),
	};
	struct sock_fprog all = { sizeof(program) / sizeof(*program), program };
	long fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail(LACKING, "no_new_privs");
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		     listens ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &all);
	if (fd < 0)
		fail(LACKING, "seccomp");
	return listens ? (int)fd : -1;
}

static bool is_below_one(const struct seccomp_notif *call)
{
	char memory[32], path[4096] = "";
	int fd;

	snprintf(memory, sizeof(memory), "/proc/%u/mem", call->pid);
	fd = open(memory, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, path, sizeof(path) - 1, (off_t)call->data.args[1]) <= 0)
		fail(LACKING, memory);
	close(fd);
	for (unsigned i = 0; i < asked.paths; i++)
		if (!strncmp(path, asked.below[i], strlen(asked.below[i])))
			return true;
	return false;
}

static bool is_denied(const struct seccomp_notif *call, bool started)
{
	if (asked.after_start && !started)
		return false;
	if (asked.anonymous && !(call->data.args[3] & MAP_ANONYMOUS))
		return false;
	if (asked.paths && !is_below_one(call))
		return false;
	return !asked.nth || ++n_calls == asked.nth;
}

static void answer(int listener, bool *started)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp response = { 0 };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return; /* it was killed meanwhile */
	response.id = call.id;
	if (call.data.nr == SYS_prctl && call.data.args[0] == DENY_FROM_NOW)
		*started = true;
	else if (!is_denied(&call, *started))
		response.error = 0;
	else if (asked.error == DELAY)
		usleep(DELAY_US);
	else
		response.error = -asked.error;
	if (!response.error)
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void pass(int socket, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec byte = { "", 1 };
	struct msghdr message = { .msg_iov = &byte,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (sendmsg(socket, &message, 0) != 1)
		fail(LACKING, "sendmsg");
}

static int passed(int socket)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec one = { &byte, 1 };
	struct msghdr message = { .msg_iov = &one,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
		exit(LACKING); /* the child has said why */
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

/* Until all who may call are gone. Ends as the program does. */
static int supervise(int listener, pid_t child)
{
	struct pollfd events = { listener, POLLIN, 0 };
	bool started = false;
	int status;

	do {
		if (poll(&events, 1, -1) > 0 && events.revents & POLLIN)
			answer(listener, &started);
	} while (!(events.revents & POLLHUP));
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status) || n_calls >= asked.nth ? WEXITSTATUS(status) : FEWER;
}

int main(int argc, char **argv)
{
	char **program = read_arguments(argv);
	bool listens = asked.after_start || asked.anonymous || asked.paths || asked.nth;
	int sockets[2], listener;
	pid_t child;

	(void)argc;
	if (!listens) {
		filter(false);
		execvp(*program, program);
		fail(LACKING, *program);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		fail(LACKING, "socketpair");
	child = fork();
	if (child < 0)
		fail(LACKING, "fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		listener = filter(true);
		pass(sockets[1], listener);
		close(listener);
		execvp(*program, program);
		fail(LACKING, *program);
	}
	close(sockets[1]);
	listener = passed(sockets[0]);
	return supervise(listener, child);
}
