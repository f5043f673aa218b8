/* SPDX-License-Identifier: MIT */
/*
 * Told once: what a FIFO lock does to a program of more threads than CPUs. To the terminal, if there is one;
 * never to the program's streams.
 *
 * A waiter that sleeps only leaves word, for others wait behind it. What there is to say is found out by a
 * thread that has just released, and said by one of those as soon as the terminal takes it, at the latest when the
 * program ends.
 */
#include "interposer.h"

#include "bare.h"
#include "text.h"

#include <errno.h>
#include <sched.h>
#include <stdalign.h>
#include <sys/stat.h>

static const struct ol_lock_ops *sleeps; /* the FIFO lock whose waiter slept first */
static bool is_over;			 /* said, or there is nobody to say it to */

/* By one thread at a time: */
static uint32_t telling;
static ol_ticks_t next_look;
static char note[512]; /* empty: not known yet */
static size_t said;

/* Relaxed, here and below: these order nothing. */
void ol_run_note_sleep(const struct ol_lock_ops *ops)
{
	if ((ops->traits & (OL_FIFO | OL_LATE_FIFO)) && !ol_load_relaxed(&sleeps))
		ol_store_relaxed(&sleeps, ops);
}

struct entry { /* as getdents64() has it; libc's would allocate */
	uint64_t inode, next;
	uint16_t bytes;
	uint8_t kind;
	char name[];
};

/* 0: `.` and `..`. */
static pid_t number_of(const char *name)
{
	pid_t n = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		n = 10 * n + (*name - '0');
	return n;
}

/*
 * Those that any thread may use: OMP_PROC_BIND, for one, binds each to a CPU of its own. 0: that cannot be
 * known.
 */
static int cpus_of(int tasks)
{
	alignas(struct entry) char entries[2048];
	cpu_set_t all, its;
	ssize_t bytes;

	CPU_ZERO(&all);
	while ((bytes = syscall(SYS_getdents64, tasks, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < bytes;) {
			const struct entry *task = (const void *)(entries + at);
			pid_t thread = number_of(task->name);

			if (thread > 0 && !sched_getaffinity(thread, sizeof(its), &its))
				CPU_OR(&all, &all, &its);
			at += task->bytes;
		}
	return bytes < 0 ? 0 : CPU_COUNT(&all);
}

/* False also if it cannot be known. */
static bool outnumber_cpus(uint64_t *threads, int *cpus)
{
	int tasks = ol_bare_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	struct stat is;

	if (tasks < 0)
		return false;
	*threads = fstat(tasks, &is) ? 0 : is.st_nlink - 2; /* its links are its entries */
	*cpus = cpus_of(tasks);
	ol_bare_close(tasks);
	return *cpus && *threads > (uint64_t)*cpus;
}

static void write_note(const struct ol_lock_ops *ops, uint64_t threads, int cpus)
{
	char *end = stpcpy(note, "overlock: ");

	end = stpncpy(end, ops->id, sizeof(note) / 4);
	end = stpcpy(end, " is a FIFO lock, and this program has ");
	end = ol_text_number(end, threads);
	end = stpcpy(end, " threads on ");
	end = ol_text_number(end, (uint64_t)cpus);
	stpcpy(end, " CPUs: whenever the next waiter is preempted, all others wait for it. "
		    "Try another lock: docs/choosing.md\n");
}

/* On a terminal that takes it now. */
static void say(void)
{
	int fd = ol_run_terminal_open();
	size_t size = strlen(note);

	if (fd < 0) {
		ol_store_relaxed(&is_over, errno == ENXIO); /* there is none */
		return;
	}
	said += ol_run_write_at_once(fd, note + said, size - said);
	ol_store_relaxed(&is_over, said == size);
	ol_bare_close(fd);
}

static void look(void)
{
	uint64_t threads;
	int cpus;

	if (!*note && outnumber_cpus(&threads, &cpus))
		write_note(ol_load_relaxed(&sleeps), threads, cpus);
	if (*note)
		say();
}

static OL_COLD void tell(void)
{
	int saved = errno;

	if (ol_xchg_acquire(&telling, 1u)) /* with what the last one left */
		return;
	if (!is_over)
		look();
	ol_store_relaxed(&next_look, ol_after(1, ol_ticks_from_ns(1000000000)));
	ol_store_release(&telling, 0u);
	errno = saved;
}

void ol_run_note_tell(void)
{
	if (OL_UNLIKELY(ol_load_relaxed(&sleeps) && !ol_load_relaxed(&is_over)) &&
	    ol_passed(ol_load_relaxed(&next_look)))
		tell();
}

/* The threads may have ended by now, so it is too late to look. */
__attribute__((destructor)) static void tell_at_the_end(void)
{
	if (*note && !ol_load_relaxed(&is_over))
		tell();
}
