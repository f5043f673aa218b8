/* SPDX-License-Identifier: MIT */
#ifndef OL_CHAOS_GUEST_H
#define OL_CHAOS_GUEST_H
/* What the plugin for QEMU records, in a file that it maps and the Python command reads. */
#include <stdint.h>

enum { GUEST_SITES = 8192, GUEST_RANGES = 1024 };

enum guest_moment {
	GUEST_waiter,
	GUEST_holder,
	GUEST_before_unlock,
	GUEST_after_unlock,
	GUEST_inside,
	GUEST_MOMENTS
};

/* A call of a lock's function. */
struct guest_site {
	uint64_t at;   /* address of the call; 0: none */
	uint64_t does; /* what is called: enum does */
	uint64_t visits[GUEST_MOMENTS];
	uint64_t naps[GUEST_MOMENTS];
	uint64_t nap_ns;
	uint64_t wait_ns, worst_ns; /* from the call to the return of a lock's function */
};

struct guest_range {
	uint64_t from, to;
};

struct guest_record {
	uint64_t on;	   /* written by the command: vCPUs lose their CPUs only while it is set */
	uint64_t n_ranges; /* and this: the code whose calls are meant; 0: all */
	struct guest_range ranges[GUEST_RANGES];
	uint64_t n_lost; /* calls without a place among the sites */
	struct guest_site sites[GUEST_SITES];
};
#endif
