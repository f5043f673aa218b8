/* SPDX-License-Identifier: MIT */
#ifndef DENY_H
#define DENY_H
#include <sys/ioctl.h>
#include <sys/prctl.h>

/* An option that no prctl() has: from here on what `deny --after-start` denies fails. */
#define DENY_FROM_NOW 0x64656e79
#endif
