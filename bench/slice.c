/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "slice.h"
#include "sched_attr.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

uint64_t slice_get(void)
{
	struct attributes a;

	return attributes_get(&a) ? a.runtime_ns : 0;
}

bool slice_set(uint64_t ns, char *why, size_t size)
{
	struct attributes a;

	if (!ns)
		return true;
	if (!attributes_get(&a)) {
		snprintf(why, size, "sched_getattr: %s", strerror(errno));
		return false;
	}
	a.policy = 0; /* SCHED_OTHER: no other has slices */
	a.runtime_ns = ns;
	if (!attributes_set(&a)) {
		snprintf(why, size, "sched_setattr: %s", strerror(errno));
		return false;
	}
	if (!slice_get()) {
		snprintf(why, size, "the kernel ignored the slice; custom slices need Linux 6.12");
		return false;
	}
	return true;
}
