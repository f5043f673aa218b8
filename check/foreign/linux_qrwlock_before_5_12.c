// SPDX-License-Identifier: MIT
// Linux's qrwlock without the fix of 5.12, "Fix ordering in queued_write_lock_slowpath()": the writer that
// waited acquired by its look, not by its compare-exchange.
// replaces: atomic_cond_read_relaxed\(&lock->cnts => atomic_cond_read_acquire(&lock->cnts
// replaces: while \(!atomic_try_cmpxchg_acquire\(&lock->cnts => while (!atomic_try_cmpxchg_relaxed(&lock->cnts
#include "linux_qrwlock_interrupts.c"
