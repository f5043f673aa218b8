/* SPDX-License-Identifier: MIT */
#ifndef OL_SCHED_SOCKET_H
#define OL_SCHED_SOCKET_H
/*
 * How a program comes by its slice page from `overlock sched` or `overlock monitord`: it connects to a
 * SOCK_SEQPACKET socket there, gets a byte with a file descriptor, maps that, and sends a message for each
 * thread. There is no answer: once the thread is known, its entry has an id. The page is told as long as
 * the socket is open. A path that begins with @ is an abstract address.
 */
#include <linux/types.h>

#define OL_RUN_FOLDER		"/run/overlock"
#define OL_SCHED_SOCKET		OL_RUN_FOLDER "/sched"
#define OL_MONITOR_SOCKET	OL_RUN_FOLDER "/monitor"

/*
 * The first argument of a sched_yield() by which a thread asks the scheduler of `overlock chaos --by sched`
 * for no CPU; the second says for how many ns. Every other scheduler takes it for what it is.
 */
#define OL_CHAOS_YIELD		0x6f6c63686173ull

struct ol_sched_join {
	__u32 thread; /* gettid(), in the program's own PID namespace */
	__u32 entry;  /* of the page, chosen by the program */
};
#endif
