// SPDX-License-Identifier: MIT
// Linux's qrwlock with readers in interrupts, who pass a writer that waits.
// brings: kernel/locking/qspinlock.c kernel/locking/mcs_spinlock.h
// brings: include/asm-generic/qspinlock.h include/asm-generic/qspinlock_types.h
// brings: include/asm-generic/qrwlock_types.h include/asm-generic/qrwlock.h kernel/locking/qrwlock.c
#include <overlock/foreign/linux.h>
#undef in_interrupt
#define in_interrupt()	1
#include "linux_qrwlock.c"
