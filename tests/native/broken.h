/* SPDX-License-Identifier: MIT */
#ifndef OL_BROKEN_H
#define OL_BROKEN_H
/* Locks that are wrong on purpose, one per property: a test that lets one pass is no test. */
#include <overlock/ops.h>

#ifdef __cplusplus
extern "C" {
#endif
extern const struct ol_lock_ops ol_ops_absent;  /* excludes nobody */
extern const struct ol_lock_ops ol_ops_relaxed; /* excludes, but its release orders nothing */
#ifdef __cplusplus
}
#endif
#endif
