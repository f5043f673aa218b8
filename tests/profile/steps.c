/* SPDX-License-Identifier: MIT */
/*
 * A lock's waits, accounted by the steps given: each "TIME:WAITERS", the time in ns of somebody's step and
 * how many more wait from then on. Prints what was accounted. Steps may come late, in another order than
 * their times: two CPUs took theirs.
 */
#include "account.h"
#include <stdio.h>
#include <stdlib.h>

static struct lock_seen seen = { .since = 1, .role = ROLE_HOLDER };

static void take(__u64 now, int waiters)
{
	static const __u64 none[STATES];
	struct split split;

	account(&seen, now, none, &split);
	change_waiters(&seen, now, waiters);
}

int main(int argc, char **argv)
{
	unsigned long long sum = 0;

	for (int i = 1; i < argc; i++) {
		char *more;
		__u64 now = strtoull(argv[i], &more, 10);

		take(now, atoi(more + 1));
	}
	add_missed(&seen);
	for (int i = 0; i < STATES; i++)
		sum += seen.ns[ROLE_HOLDER][i];
	printf("%llu\n", sum);
	return 0;
}
