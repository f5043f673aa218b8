/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUBJECTS_H
#define BENCH_SUBJECTS_H
/* What is measured: the library's locks, peers, and locks loaded from a file. */
#include "openmp.h"
#include "peer.h"

struct subject {
	const struct ol_lock_ops *ops;
	void (*init)(void *lock); /* null: all zero is ready */
	ol_team *team;		  /* null: each context is a thread of its own */
};

/* A barrier, for the workload `rounds`. Its contexts leave together. */
bool subject_meets(const struct subject *s);

/* The subject of that name, or one whose ops are null. */
struct subject subject_find(const char *id);

/*
 * Loads what lock_unit.c makes of a lock from outside the tree; it is found by its id from then on.
 * Null, or a line that says what was wrong.
 */
const char *subject_load(const char *path, const char *id);

/* The same for the peers of a plug-in, which peer.h describes. */
const char *subjects_load_peers(const char *path);

/* Calls `each` for every subject. */
void subjects_list(void (*each)(const struct ol_lock_ops *ops, const char *kind));
#endif
