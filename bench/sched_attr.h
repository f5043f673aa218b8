/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SCHED_ATTR_H
#define BENCH_SCHED_ATTR_H
/* How the kernel schedules the calling thread. glibc before 2.41 has neither structure nor calls. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's first version of it, which is enough. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* False: errno says why. */
static inline bool attributes_get(struct attributes *a)
{
	*a = (struct attributes){ .size = sizeof(*a) };
	return !syscall(SYS_sched_getattr, 0, a, sizeof(*a), 0);
}

static inline bool attributes_set(struct attributes *a)
{
	return !syscall(SYS_sched_setattr, 0, a, 0);
}
#endif
