/* SPDX-License-Identifier: MIT */
/* Every eighth call takes 2 us longer: about as long as a turn takes otherwise, four times over. */
#include "planted.h"

#define OL_LOCK_LINE OL_LOCK(every_eighth, waits, 0, "planted", "slow at every eighth call")

PLANTED(every_eighth, if (calls % 8 == 0) planted_wait(2000), true)
