/* SPDX-License-Identifier: MIT */
#ifndef OL_BROKEN_H
#define OL_BROKEN_H
/* Locks that are wrong on purpose, one per property: a test that lets one pass is no test. */
#include <overlock/ops.h>

#ifdef __cplusplus
extern "C" {
#endif
extern const struct ol_lock_ops ol_ops_absent;    /* excludes nobody */
extern const struct ol_lock_ops ol_ops_relaxed;   /* excludes, but its release orders nothing */
extern const struct ol_lock_ops ol_ops_forgetful; /* a waiter that gives up leaves its ticket */
extern const struct ol_lock_ops ol_ops_hasty;     /* gives up at once, whatever the deadline */
extern const struct ol_lock_ops ol_ops_late;      /* gives up 200 us of CPU time late */
#ifdef __cplusplus
}
#endif
#endif
