/* SPDX-License-Identifier: MIT */
#ifndef OL_FIT_H
#define OL_FIT_H
/*
 * `overlock run --fit`: how many CPUs the program is told, and which.
 *
 * Nothing here allocates, waits, or needs more than a few KiB of stack: an allocator that is being set up may ask, or a
 * signal handler.
 */
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	OL_FIT_MASK = 1024
}; /* bytes: of 8192 CPUs, the most that Linux can be built for on x86-64 */

/*
 * How many CPUs the process may use at once: the least of its mask, its quotas, rounded up, and --fit=N. At least 1;
 * UINT_MAX: nothing is to be changed.
 */
unsigned ol_fit_cpus(void);

/* Only the first CPUs of a mask of so many bytes stay in it, as many as the process may use. */
void ol_fit_cut(void *mask, size_t bytes);

/* The CPUs that the process is told, as bytes of a mask; how many bytes, 0: as they are. */
size_t ol_fit_told(unsigned char *mask, size_t bytes);

/* A CPU's number, below the least number of CPUs that the program was told: arrays of that size have a place for it. */
unsigned ol_fit_place(unsigned cpu);

/* Before the program gives a thread a mask: from then on its first thread's says no longer what the process may use. */
void ol_fit_will_pin(void);

struct ol_fit_mask {
	const void *bytes;
	size_t n;
};

/*
 * What a thread is to have that was given that mask; none: just that. A mask that was told as the process's own is given
 * back, by the thread that saved it, or by LLVM's OpenMP to each of its threads: it means all CPUs that the process has.
 */
struct ol_fit_mask ol_fit_whole(const void *mask, size_t bytes);

/* What the kernel itself says: bytes of the mask, or below 0. */
long ol_fit_real_mask(pid_t thread, size_t bytes, void *mask);

/* A file that was opened by that path: if it is one of CPUs, such as /proc/cpuinfo, it has from now on those told alone. */
void ol_fit_file(int fd, const char *path);
#endif
