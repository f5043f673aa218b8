// SPDX-License-Identifier: MIT
// FlexGuard with our fix of its condition variable: a signal lets all sleepers look whether it is for them.
// replaces: futex_wake\(&cond->seq, 1\) => futex_wake(&cond->seq, INT_MAX)
#include "flexguard_mcs.c"
