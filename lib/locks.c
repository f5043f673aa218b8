/* SPDX-License-Identifier: MIT */
/* locks.def as a table. */
#include <overlock/ops.h>
#include "aliases.h"

#include <string.h>

#define OL_LOCK(id, ...) extern const struct ol_lock_ops ol_ops_##id;
#include <overlock/locks.def>
#undef OL_LOCK

static const struct ol_lock_ops *const all[] = {
#define OL_LOCK(id, ...) &ol_ops_##id,
#include <overlock/locks.def>
#undef OL_LOCK
	0,
};

/* A pointer: programs copy exported objects at their size when they were linked. */
const struct ol_lock_ops *const *const ol_locks = all;

const struct ol_lock_ops *ol_find_lock(const char *id)
{
	id = ol_now_called(id);
	for (size_t i = 0; ol_locks[i]; i++)
		if (!strcmp(ol_locks[i]->id, id))
			return ol_locks[i];
	return 0;
}
