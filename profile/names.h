/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_NAMES_H
#define MONITOR_NAMES_H
/* What numbers in records are called in overlock-profiler's answer. */
#include "waits.h"

extern const char *const role_names[ROLES];
extern const char *const state_names[STATES];

void tell_call(__u32 number); /* a system call; a string in JSON, empty if it is none */
#endif
