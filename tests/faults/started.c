/* SPDX-License-Identifier: MIT */
/*
 * Preloaded behind the library under test: its constructor runs before all others, when the loader has
 * mapped everything. `deny --after-start` begins then, or with DENY_CALL set only at the program's own
 * deny_from_now().
 */
#include "deny.h"

#include <stdlib.h>

void deny_from_now(void)
{
	prctl(DENY_FROM_NOW, 0, 0, 0, 0);
}

__attribute__((constructor(101))) static void start(void)
{
	if (!getenv("DENY_CALL"))
		deny_from_now();
}
