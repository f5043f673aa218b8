/* SPDX-License-Identifier: MIT */
#ifndef OL_PRELOAD_LEAST_GLIBC_H
#define OL_PRELOAD_LEAST_GLIBC_H
/* The newest version of a symbol that the preloaded libraries need, built on Debian 12; docs/run.md has it, too. */
#define OL_LEAST_GLIBC "2.34"
#endif
