// SPDX-License-Identifier: MIT
// glibc's pthread_rwlock_t without the fix of BZ 23844 in pthread_rwlock_trywrlock(): it sets the write phase's word
// although that may say already that a reader sleeps.
// replaces: if \(\(r & PTHREAD_RWLOCK_WRPHASE\) == 0\)\s+atomic_store_relaxed => atomic_store_relaxed
#include "glibc_rwlock.c"
