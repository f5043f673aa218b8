/* SPDX-License-Identifier: MIT */
#ifndef OL_RECORD_H
#define OL_RECORD_H
/*
 * What a process records, in a file that it maps: a program that is killed leaves it behind. Events lie in
 * chunks, each of one thread. A chunk is taken by one atomic addition, and nobody ever waits; when none is left,
 * events are counted as lost. Tables are filled by compare-and-swap and only grow.
 */
#include <stdint.h>

enum {
	RECORD_LOCKS = 32768,
	RECORD_SITES = 4096,
	RECORD_THREADS = 4096,
	RECORD_OBJECTS = 256,
	RECORD_PATH = 512,
	RECORD_NAME = 16,
	RECORD_CHUNK = 255, /* events in each */
	RECORD_NOBODY = 0,
	RECORD_UNKNOWN = 0xffff,
};

enum record_kind {
#define RECORD_KIND(name, what) RECORD_##name,
#include "kinds.def"
#undef RECORD_KIND
	RECORD_KINDS
};

enum record_class { RECORD_mutex, RECORD_rwlock, RECORD_spinlock };

struct record_event {
	uint64_t at;	  /* ticks: the lock is acquired, or about to be released */
	uint64_t before;  /* ticks since this thread's previous event */
	uint64_t wait;	  /* ticks in the call */
	uint32_t idle_us; /* of `before`: off the CPU of its own accord */
	uint32_t lost_us; /* of `before`: off the CPU although it could have run */
	uint16_t lock, site;
	uint16_t
		whom; /* who held the lock when it was asked for: a thread's number from 1, or unknown */
	uint8_t kind;
	uint8_t unused;
};

struct record_chunk {
	uint32_t thread; /* from 1 */
	uint32_t n;
	uint64_t unused[4];
	struct record_event events[RECORD_CHUNK];
};

struct record_lock {
	uint64_t address; /* 0: none */
	uint16_t owner;	  /* who holds it now, from 1 */
	uint8_t class;
	uint8_t unused[53]; /* a line of its own, as it moves with the lock */
};

struct record_site {
	uint64_t address; /* 0: none */
	uint64_t offset;
	uint64_t object; /* from 1; 0: unknown */
};

struct record_thread {
	uint32_t tid;
	char name[RECORD_NAME];
	uint32_t unused;
	uint64_t began; /* ticks */
	uint64_t lost;	/* events */
};

struct record {
	uint64_t began;	      /* ticks */
	uint64_t ns_per_2_30; /* so many ns are 2^30 ticks */
	uint64_t empty_hold;  /* ticks that an empty section seems to take, as we look */
	uint64_t empty_think; /* and what is between two */
	uint64_t most_chunks; /* there is room for */
	uint64_t n_chunks;    /* asked for */
	uint64_t n_threads;   /* that ever were */
	uint64_t n_objects;
	uint64_t lost_threads; /* events of threads that have no row */
	uint64_t lost_locks;   /* events of locks that have no row */
	char objects[RECORD_OBJECTS][RECORD_PATH];
	struct record_lock locks[RECORD_LOCKS];
	struct record_site sites[RECORD_SITES];
	struct record_thread threads[RECORD_THREADS];
	struct record_chunk chunks[];
};
#endif
