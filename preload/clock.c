/* SPDX-License-Identifier: MIT */
/* Times as POSIX gives them. */
#include "preload.h"

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

uint64_t ol_run_ns_left(clockid_t clock, const struct timespec *until)
{
	struct timespec now;
	int64_t seconds, ns;

	clock_gettime(clock, &now);
	if (__builtin_sub_overflow(until->tv_sec, now.tv_sec, &seconds))
		return until->tv_sec < 0 ? 0 : UINT64_MAX;
	if (__builtin_mul_overflow(seconds, (int64_t)NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, until->tv_nsec - now.tv_nsec, &ns))
		return seconds < 0 ? 0 : UINT64_MAX;
	return ns < 0 ? 0 : (uint64_t)ns;
}

void ol_run_nap(uint64_t *step_ns, ol_ticks_t until)
{
	uint64_t ns = *step_ns ? *step_ns : 50000;
	uint32_t nobody = 0;

	*step_ns = ns < 500000 ? 2 * ns : 1000000;
	/* Not clock_nanosleep(): that is a cancellation point, and taking a mutex is not. */
	ol_park(&nobody, 0, OL_ANY, ol_earlier(ol_after(1, ol_ticks_from_ns(ns)), until));
}
