/* SPDX-License-Identifier: MIT */
/* A variable of each type that ABI.md covers, so that abidw finds those that no function takes. */
#include <overlock/overlock.h>

#define OL_LOCK(id, ...) ol_##id##_t abi_##id;
#include <overlock/locks.def>
#undef OL_LOCK

enum ol_event abi_event;
enum ol_trait abi_trait;
struct ol_lock_ops *abi_lock_ops; /* pointers to what may grow at its end */
struct ol_node abi_node;
struct ol_world *abi_world;
