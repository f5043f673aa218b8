/* SPDX-License-Identifier: MIT */
/* A variable of each type that ABI.md covers, so that abidw finds those that no function takes. */
#include <overlock/overlock.h>

#define OL_LOCK(id, ...) ol_##id##_t abi_##id;
#include <overlock/locks.def>
#undef OL_LOCK
#define OL_ALIAS(old, id) ol_##old##_t abi_##old;
#include <overlock/aliases.def>
#undef OL_ALIAS

ol_cond_t abi_cond;
ol_mutex_t abi_mutex;
struct ol_held_row abi_held_row;
enum ol_event abi_event;
enum ol_trait abi_trait;
struct ol_lock_ops *abi_lock_ops; /* pointers to what may grow at its end */
struct ol_node abi_node;
struct ol_world *abi_world;
