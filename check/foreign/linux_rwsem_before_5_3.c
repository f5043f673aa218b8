// SPDX-License-Identifier: MIT
// Linux's rw_semaphore without the fix of 5.3, "Add missing ACQUIRE to read_slowpath exit when queue is empty".
// replaces: smp_acquire__after_ctrl_dep\(\); =>
#include "linux_rwsem.c"
