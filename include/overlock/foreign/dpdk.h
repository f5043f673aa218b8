/* SPDX-License-Identifier: MIT */
#ifndef OVERLOCK_FOREIGN_DPDK_H
#define OVERLOCK_FOREIGN_DPDK_H
/* What DPDK's headers of locks find in its others, in our words. */
#include <overlock/checked.h>

#include <stddef.h>

#define RTE_FORCE_INTRINSICS
#define __rte_warn_unused_result
#define likely(x)	(x)
#define unlikely(x)	(x)
#define rte_gettid()	((int)ol_checked_self())
#define rte_pause()	ol_checked_spin_endlessly()
#define OL_DPDK_WAIT(bits)							\
	static inline void rte_wait_until_equal_##bits(volatile uint##bits##_t *p, uint##bits##_t v, int order) \
	{									\
		while (__atomic_load_n(p, order) != v)				\
			rte_pause();						\
	}
OL_DPDK_WAIT(16)
OL_DPDK_WAIT(32)

/* All bits of the mask. */
#define RTE_WAIT_UNTIL_MASKED(p, mask, op, v, order)				\
	do {									\
	} while (!((__atomic_load_n((p), (order)) & (mask)) op (v)) && (rte_pause(), 1))
#endif
