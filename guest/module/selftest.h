/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef SELFTEST_H
#define SELFTEST_H
/* Of or_fail_test.c: adds the locks that it tests, and returns how many failed. */
unsigned int overlock_or_fail_test(unsigned int *tested);
#endif
