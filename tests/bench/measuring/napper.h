/* SPDX-License-Identifier: MIT */
/* Every 20 000th call takes 100 ms longer. */
#include "planted.h"

#define OL_LOCK_LINE OL_LOCK(napper, waits, 0, "planted", "naps for 100 ms now and then")

PLANTED(napper, if (calls % 20000 == 19999) planted_wait(100000000), true)
