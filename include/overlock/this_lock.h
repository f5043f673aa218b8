/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_THIS_LOCK_H
#define OL_THIS_LOCK_H
/*
 * Of all lines of locks.def, that of one lock, for what is compiled once per lock: OL_THIS_<id> is
 * defined as OL_YES, for no other id, and OL_DEFINE_OPS(id, gives_up, traits, source, what) before
 * this is included. A lock from outside the tree brings its line as the macro OL_LOCK_LINE.
 */
#include <overlock/ops.h>

#define OL_JOIN_(a, b)		a##b
#define OL_JOIN(a, b)		OL_JOIN_(a, b)
#define OL_YES			~, OL_DEFINE_OPS
#define OL_NOTHING(...)		struct ol_lock_ops
#define OL_SECOND_(a, b, ...)	b
#define OL_SECOND(...)		OL_SECOND_(__VA_ARGS__)
#define OL_LOCK(id, ...)	OL_SECOND(OL_JOIN(OL_THIS_, id), OL_NOTHING, )(id, __VA_ARGS__);

#ifdef OL_LOCK_LINE
OL_LOCK_LINE
#else
#include <overlock/locks.def>
#endif
#undef OL_LOCK
#endif
