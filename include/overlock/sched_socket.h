/* SPDX-License-Identifier: MIT */
#ifndef OL_SCHED_SOCKET_H
#define OL_SCHED_SOCKET_H
/*
 * How a program comes by its slice page from `overlock sched`: it connects to a SOCK_SEQPACKET socket there,
 * gets a byte with a file descriptor, maps that, and sends a message for each thread. There is no answer:
 * once the thread is known, its entry has an id.
 */
#include <linux/types.h>

#define OL_SCHED_SOCKET	"/run/overlock/sched"

struct ol_sched_join {
	__u32 thread; /* gettid() */
	__u32 entry;  /* of the page, chosen by the program */
};
#endif
