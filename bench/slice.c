/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "slice.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first version of the kernel's structure is enough; libc has no wrapper for the calls. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static bool get(struct attributes *a)
{
	*a = (struct attributes){ .size = sizeof(*a) };
	return !syscall(SYS_sched_getattr, 0, a, sizeof(*a), 0);
}

uint64_t slice_get(void)
{
	struct attributes a;

	return get(&a) ? a.runtime_ns : 0;
}

bool slice_set(uint64_t ns, char *why, size_t size)
{
	struct attributes a;

	if (!ns)
		return true;
	if (!get(&a)) {
		snprintf(why, size, "sched_getattr: %s", strerror(errno));
		return false;
	}
	a.policy = 0; /* SCHED_OTHER: no other has slices */
	a.runtime_ns = ns;
	if (syscall(SYS_sched_setattr, 0, &a, 0)) {
		snprintf(why, size, "sched_setattr: %s", strerror(errno));
		return false;
	}
	if (!slice_get()) {
		snprintf(why, size,
			 "the kernel took the slice and reports none; Linux 6.12 has them");
		return false;
	}
	return true;
}
