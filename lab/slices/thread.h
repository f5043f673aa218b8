/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_THREAD_H
#define MONITOR_THREAD_H
/* A thread as /proc shows it. Its id alone does not identify it, because ids are used again. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct thread {
	pid_t id, process;
	pid_t inner;	/* its id in its own PID namespace */
	uid_t user;	/* the effective one */
	uint64_t start; /* in ticks of sysconf(_SC_CLK_TCK) since the boot */
};

/*
 * False if there is no such thread, or no more than its exit code is left: ENOENT or ESRCH; or if /proc
 * cannot be read.
 */
bool thread_find(struct thread *thread, pid_t id);

/*
 * One step of the search for the thread that calls itself so in that process's PID namespace. `search` is null
 * before the first. While it is not afterwards, the search goes on; else the thread is returned, or 0: there is none.
 */
pid_t thread_named(pid_t process, uint32_t name, DIR **search);

/* Is it the same thread still, and alive? */
bool thread_lives(const struct thread *thread);

/*
 * The parsers: the texts of /proc/ID/stat and /proc/ID/status, in which the thread chooses its name.
 * False if the thread has exited or the text is not what Linux writes.
 */
bool thread_parse_stat(struct thread *thread, const char *text);
bool thread_parse_status(struct thread *thread, const char *text);
#endif
