// SPDX-License-Identifier: MIT
// Linux's qspinlock without the fix of 4.17, "Ensure node is initialised before updating prev->next".
// brings: kernel/locking/qspinlock.c kernel/locking/mcs_spinlock.h
// brings: include/asm-generic/qspinlock.h include/asm-generic/qspinlock_types.h
// replaces: smp_wmb\(\); => ;
#include "linux_qspinlock.c"
