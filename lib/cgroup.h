/* SPDX-License-Identifier: MIT */
#ifndef OL_CGROUP_H
#define OL_CGROUP_H
/*
 * Control groups with the cpu controller, of version 1 and 2: where ours is, and what quotas it and those above it
 * have. Nothing here allocates: the caller may be an allocator. Never exported.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif
struct ol_cgroup {
	char folder[PATH_MAX];
	size_t top; /* so long is the name of the folder that the hierarchy is mounted at */
	bool is_v1;
	/* For the search: too much for a thread's least stack. */
	char path[PATH_MAX], root[PATH_MAX], line[2 * PATH_MAX];
};

/* The group that this process is in; false: there is none to be seen. */
bool ol_cgroup_find(struct ol_cgroup *g);

/* Goes to the group above; false: it is at the top. */
bool ol_cgroup_rise(struct ol_cgroup *g);

/* Its quota in each period, both in ns; false: it has none, or errno says why that is not known. */
bool ol_cgroup_quota(struct ol_cgroup *g, uint64_t *quota, uint64_t *period);

/* The same in version 1's hierarchy of another controller. */
bool ol_cgroup_find_in(struct ol_cgroup *g, const char *controller);

/* Where a group that /proc/self/cgroup calls `path` is, below a mount of `root`; "" : at its top. */
const char *ol_cgroup_below(const char *path, const char *root);

enum { OL_CGROUP_TEXT = 1024 };

/* What a small file has, cut at that size; false: it cannot be read, or is empty. */
bool ol_cgroup_read(const char *path, char text[OL_CGROUP_TEXT]);

/* A number without sign; false: there is none, or it is too large. */
bool ol_cgroup_number(const char *text, uint64_t *value);
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
