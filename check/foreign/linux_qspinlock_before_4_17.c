// SPDX-License-Identifier: MIT
// Linux's qspinlock without the fix of 4.17, "Ensure node is initialised before updating prev->next".
// replaces: smp_wmb\(\); => ;
#include "linux_qspinlock.c"
