/* SPDX-License-Identifier: MIT */
#ifndef OL_ALIASES_H
#define OL_ALIASES_H
/* aliases.def as a function. */
#include <string.h>

/* The id of the lock that had this name; another name as it is. */
static inline const char *ol_now_called(const char *name)
{
#define OL_ALIAS(old, id)       \
	if (!strcmp(name, #old)) \
		return #id;
#include <overlock/aliases.def>
#undef OL_ALIAS
	return name;
}
#endif
