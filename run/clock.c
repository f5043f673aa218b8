/* SPDX-License-Identifier: MIT */
/*
 * Times as POSIX gives them, by the program's clock. A library that is preloaded, too, may have replaced that
 * (libfaketime), while futexes go by the kernel's. It replaces pthread_cond_timedwait() as well: behind it the
 * deadlines that come to us are the kernel's, before it they are the program's.
 */
#include "interposer.h"

#include <dlfcn.h>
#include <internal.h>

#define NS_PER_S	1000000000

/* What pthread_mutex_clocklock() and pthread_cond_clockwait() take. */
bool ol_run_clock_is_known(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

bool ol_run_time_is_valid(const struct timespec *t)
{
	return t->tv_nsec >= 0 && t->tv_nsec < NS_PER_S;
}

static uint64_t ns_between(struct timespec now, const struct timespec *until)
{
	int64_t seconds, ns;

	if (__builtin_sub_overflow(until->tv_sec, now.tv_sec, &seconds))
		return until->tv_sec < 0 ? 0 : UINT64_MAX;
	if (__builtin_mul_overflow(seconds, (int64_t)NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, until->tv_nsec - now.tv_nsec, &ns))
		return seconds < 0 ? 0 : UINT64_MAX;
	return ns < 0 ? 0 : (uint64_t)ns;
}

static bool is_replaced; /* the program's clock */

uint64_t ol_run_ns_left(clockid_t clock, const struct timespec *until)
{
	struct timespec now;

	if (!is_replaced)
		return ol_run_kernels_ns_left(clock, until);
	clock_gettime(clock, &now);
	return ns_between(now, until);
}

uint64_t ol_run_kernels_ns_left(clockid_t clock, const struct timespec *until)
{
	struct timespec now;

	ol_clock_read(clock, &now);
	return ns_between(now, until);
}

struct timespec ol_run_kernels_time_in(uint64_t ns)
{
	uint64_t now = ol_clock(), then;

	if (__builtin_add_overflow(now, ns, &then) || then > INT64_MAX)
		then = INT64_MAX;
	return (struct timespec){ (time_t)(then / NS_PER_S), (long)(then % NS_PER_S) };
}

bool ol_run_has_its_clock;

/* The object that the program's calls go to. */
static const void *object_with(const char *function)
{
	const void *found = dlsym(RTLD_DEFAULT, function);
	Dl_info info;

	return found && dladdr(found, &info) ? info.dli_fbase : 0;
}

void ol_run_clock_start(void)
{
	const void *clocks = object_with("clock_gettime"),
		   *ours = object_with("pthread_cond_timedwait");
	Dl_info me;

	is_replaced = clocks && clocks != object_with("gnu_get_libc_version");
	ol_run_has_its_clock = is_replaced && dladdr(&is_replaced, &me) && ours == me.dli_fbase;
}

void ol_run_nap(uint64_t *step_ns, ol_ticks_t until)
{
	uint64_t ns = *step_ns ? *step_ns : 50000;
	uint32_t nobody = 0;

	*step_ns = ns < 500000 ? 2 * ns : 1000000;
	/* Not clock_nanosleep(): that is a cancellation point, and taking a mutex is not. */
	ol_park(&nobody, 0, OL_ANY, ol_earlier(ol_after(1, ol_ticks_from_ns(ns)), until));
}
