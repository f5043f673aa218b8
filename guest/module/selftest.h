/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef SELFTEST_H
#define SELFTEST_H
/* Each adds what it tests, and returns how many of that failed. */
unsigned int overlock_or_fail_test(unsigned int *tested); /* or_fail_test.c */
unsigned int overlock_waits_test(unsigned int *tested);	  /* waits_test.c */
#endif
