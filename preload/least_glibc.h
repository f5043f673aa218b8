/* SPDX-License-Identifier: MIT */
#ifndef OL_PRELOAD_LEAST_GLIBC_H
#define OL_PRELOAD_LEAST_GLIBC_H
/*
 * The newest versions of symbols that the preloaded libraries need, built on Debian 12: without counters, and with
 * counters or checks, which read rseq. docs/run.md has both.
 */
#define OL_LEAST_GLIBC	       "2.34"
#define OL_LEAST_GLIBC_COUNTED "2.35"
#endif
