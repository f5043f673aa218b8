/* SPDX-License-Identifier: MIT */
#ifndef OL_FIT_H
#define OL_FIT_H
/*
 * `overlock run --fit`: how many CPUs the program is told, and which.
 *
 * Nothing here allocates or takes a lock: an allocator that is being set up may ask, or a signal handler.
 */
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * How many CPUs the process may use at once: the least of its mask, its quotas, rounded up, and --fit=N. At least 1;
 * UINT_MAX: nothing is to be changed.
 */
unsigned ol_fit_cpus(void);

/* The same, a second old at the most: for who asks all the time. */
unsigned ol_fit_cpus_lately(void);

/* Only the first CPUs of a mask of so many bytes stay in it, as many as the process may use. */
void ol_fit_cut(void *mask, size_t bytes);

struct ol_fit_mask {
	const void *bytes;
	size_t n;
};

/*
 * The program is about to give a thread that mask; returns which it gets. One that was told as the process's own is
 * given back, by who saved it, or by LLVM's OpenMP to each of its threads: it means all CPUs that the process has.
 */
struct ol_fit_mask ol_fit_pins(const void *mask, size_t bytes);

/* The CPUs that the process is told, as bytes of a mask; how many bytes, 0: as they are. */
size_t ol_fit_told(unsigned char *mask, size_t bytes);

/* What the kernel itself says: bytes of the mask, or below 0. */
long ol_fit_real_mask(pid_t thread, size_t bytes, void *mask);

/* A file of CPUs, such as /proc/cpuinfo, with those alone that the process is told; -1: it is none, or cannot be had. */
int ol_fit_file(const char *path, int flags);
#endif
