// SPDX-License-Identifier: MIT
// Linux's paravirtual qspinlock with the relaxed compare-exchange of pv_kick_node() and without the barrier
// that 4.15 put before it.
// brings: kernel/locking/qspinlock.c kernel/locking/mcs_spinlock.h kernel/locking/qspinlock_paravirt.h
// brings: include/asm-generic/qspinlock.h include/asm-generic/qspinlock_types.h
// replaces: smp_mb__before_atomic\(\); => ;
#include "linux_pv_qspinlock.c"
