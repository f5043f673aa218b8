/* SPDX-License-Identifier: MIT */
/* Grants a hundred times, and then never again. */
#include "planted.h"

#define OL_LOCK_LINE OL_LOCK(dead_end, waits, 0, "planted", "stops granting")

PLANTED(dead_end, while (calls >= 100) ol_relax(), true)
