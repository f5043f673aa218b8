/* SPDX-License-Identifier: MIT */
#ifndef OL_QUOTA_H
#define OL_QUOTA_H
/* When the CPU quota of this process's control group runs out. Never exported. */
#include <overlock/port.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif
/* One look at the kernel's counters; times in ns. */
struct ol_quota_seen {
	uint64_t now, usage;
	uint64_t periods; /* that have begun since the group was made */
};

/* What was learnt of a group whose threads may have `quota` in each `period` together. */
struct ol_quota {
	uint64_t quota, period;
	struct ol_quota_seen last, began; /* the present period */
};

/* Returns when the quota runs out at the rate of use since the last look; OL_NEVER: not in this period. */
uint64_t ol_quota_learn(struct ol_quota *q, const struct ol_quota_seen *seen);

/* The number behind `word` and a space, at the start of a line. */
bool ol_quota_field(const char *text, const char *word, uint64_t *value);

bool ol_quota_start(void); /* false: no group from here up has a quota */
ol_ticks_t ol_quota_ends(void);
void ol_quota_renew(void); /* in a child after fork(): the thread that was looking is not here */
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
