/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_PROGRAMS_H
#define MONITOR_PROGRAMS_H
/*
 * The programs that have a page. Each connects to our socket, gets a page of its own, and names its threads;
 * it sees no other's threads, and can name none.
 */
#include <dirent.h>
#include <linux/futex.h>
#include <overlock/sched_socket.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

enum { MOST_PROGRAMS = 1024, ENTRIES = 1024 /* of a page */, MOST_PLACE = 256 };

enum { SIGNALS, SOCKET, FIRST };

struct program {
	int process;
	int pidfd; /* its own: the number may be another's once it has ended */
	uid_t user;
	gid_t group;
	uid_t account;		    /* who has its place: the login's user, if there was one */
	struct robust_list *memory; /* the page comes one page of memory later */
	struct ol_sched_join named; /* while the search for its thread goes on: */
	DIR *search;
};

struct programs {
	int places; /* the map of the threads' places: a pointer to the slot, and what begins as zeros */
	bool *any_place;    /* if not null, set once one of them is in it */
	const char *socket; /* its path */
	struct robust_list_head *pages;
	/* The caller's signals, the socket or -1; then of each program its socket and its pidfd. */
	struct pollfd fds[FIRST + 2 * MOST_PROGRAMS];
	struct program of[MOST_PROGRAMS];
	unsigned n;
	unsigned heard, searched; /* with whom the next turn begins */
	unsigned searching;
	unsigned long connected, threads, refused;
};

/* False, and errno, if there is no memory. */
bool programs_begin(struct programs *programs, int signals, int places);

/* False, and errno, if it cannot listen there; EADDRINUSE: another one does. */
bool programs_listen(struct programs *programs, const char *path);

/*
 * Waits for at most `ms`, and serves them for some milliseconds, whatever they do; who was not reached is first
 * the next time. True once a signal is there.
 */
bool programs_serve(struct programs *programs, int ms);

void programs_close(struct programs *programs);
#endif
