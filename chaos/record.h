/* SPDX-License-Identifier: MIT */
#ifndef OL_CHAOS_RECORD_H
#define OL_CHAOS_RECORD_H
/*
 * What a process records, in a file that it maps: a program that is killed leaves it behind. Children of
 * fork() share it. Without a file it is private memory.
 */
#include <stdint.h>

enum { CHAOS_SITES = 4096, CHAOS_OBJECTS = 256, CHAOS_PATH = 512, CHAOS_THREADS = 1024 };

struct chaos_site {
	uint64_t key; /* of the call's address and the kind; 0: no site */
	uint64_t offset;
	uint32_t object, kind; /* object: its number from 1; 0: unknown, or not yet written */
	uint64_t visits;       /* at which a decision was made */
	uint64_t naps, nap_ns;
	uint64_t taken;		    /* of the naps: without a CPU, but runnable */
	uint64_t worst_ns, wait_ns; /* waits for locks: the longest, and all */
};

struct chaos_thread {
	uint32_t tid;
	uint32_t site; /* where it waits: the number from 1; 0: it does not */
	uint64_t since_ns;
};

struct chaos_record {
	uint64_t n_objects;
	char objects[CHAOS_OBJECTS][CHAOS_PATH];
	struct chaos_site sites[CHAOS_SITES];
	struct chaos_thread threads[CHAOS_THREADS];
};
#endif
