// SPDX-License-Identifier: MIT
// DPDK's rte_mcslock without its release of the link and the acquires that read it.
// replaces: __atomic_store_n\(&prev->next, me, __ATOMIC_RELEASE\) => __atomic_store_n(&prev->next, me, __ATOMIC_RELAXED)
// replaces: __atomic_load_n\(&me->next, __ATOMIC_ACQUIRE\) => __atomic_load_n(&me->next, __ATOMIC_RELAXED)
#include "dpdk_mcslock.c"
