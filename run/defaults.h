/* SPDX-License-Identifier: MIT */
#ifndef OL_DEFAULTS_H
#define OL_DEFAULTS_H
/* What the interposer and the launchers must agree on. */
#include <overlock/ops.h>

#define DEFAULT_LOCK "tas_yield"
#define DEFAULT_OPENMP_LOCK "paced" /* of OpenMP's locks, where no lock is named */
#define RWLOCK	     "qrw" /* the one that has readers */
#define OUR_BARRIER	     "barrier" /* of wait/barrier.h */
#define GLIBC	     "glibc"
#define DEFAULT_SPINLOCK "spin_yield" /* spin_yield.h: no other may share a spinlock with glibc's */
#define GLIBC_ADAPTIVE "pthread_adaptive" /* as overlock-bench calls it */
#define OPENMP_LLVM "llvm" /* whose OpenMP locks: those of LLVM's and Intel's runtime, unless told */
#define OPENMP_ALL  "all"  /* GNU's too */
#define OPENMP_NONE "none"
#define SPINS_AUTO  "auto" /* all waiting loops that can yield without being named */

/* Why a lock of these traits cannot be a pthread_spinlock_t, as spin.c explains; null if it can. */
static inline const char *spin_refusal(uint32_t traits)
{
	if (!(traits & OL_FITS4))
		return "is larger than the 4 bytes of a spinlock";
	if (traits & (OL_FIFO | OL_LATE_FIFO | OL_PRIVATE | OL_ELIDES))
		return "has a queue, which does not survive a fork in 4 bytes";
	if (traits & OL_NEEDS_PARK)
		return "sleeps, but another process that shares the spinlock cannot wake it";
	return 0;
}
#endif
