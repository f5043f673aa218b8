/* SPDX-License-Identifier: MIT */
/* Lets everybody in. */
#include "planted.h"

#define OL_LOCK_LINE OL_LOCK(open_door, waits, 0, "planted", "excludes nobody")

PLANTED(open_door, (void)0, false)
