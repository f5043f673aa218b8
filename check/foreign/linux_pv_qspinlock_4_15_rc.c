// SPDX-License-Identifier: MIT
// Linux's paravirtual qspinlock with the relaxed compare-exchange of pv_kick_node() and without the barrier
// that 4.15 put before it.
// replaces: smp_mb__before_atomic\(\); => ;
#include "linux_pv_qspinlock.c"
