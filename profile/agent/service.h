/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_SERVICE_H
#define MONITOR_SERVICE_H
/* What all programs here that stay and watch the scheduler do. */
#include <stdbool.h>
#include <sys/types.h>

enum { NOBODY = 65534 };

/* A file descriptor that becomes readable when we are told to end, or -1 and errno. Takes SIGPIPE and SIGXFSZ away. */
int service_signals(void);

/*
 * From root to that user, without any capability; what is open stays open. False, and errno, if they cannot be
 * given up.
 */
bool service_give_up_root(uid_t user);
#endif
