/* SPDX-License-Identifier: MIT */
#ifndef SCHED_PROGRAMS_H
#define SCHED_PROGRAMS_H
/*
 * The programs that have a page. Each connects to our socket, gets a page of its own, and names its threads;
 * it sees no other's threads, and can name none.
 */
#include <poll.h>
#include <stdbool.h>

enum { MOST_PROGRAMS = 256, ENTRIES = 1024 }; /* of a page */

struct programs {
	int places;			      /* the map of the threads' slots */
	bool *any_place;		      /* set once one of them is in it */
	struct pollfd fds[2 + MOST_PROGRAMS]; /* the caller's signals, the socket or -1, theirs */
	struct {
		int process;
		void *page;
	} of[2 + MOST_PROGRAMS]; /* in the same order */
	nfds_t n;
	unsigned long connected, threads, refused;
};

void programs_begin(struct programs *programs, int signals, int places, bool *any_place);

/* False, and errno, if it cannot listen there. */
bool programs_listen(struct programs *programs, const char *path);

/* Waits for at most `ms`, and serves them. True once a signal is there. */
bool programs_serve(struct programs *programs, int ms);

void programs_close(struct programs *programs, const char *path);
#endif
