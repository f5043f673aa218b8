/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PORT_LISTS_H
#define OL_PORT_LISTS_H
/* What tunables.def and events.def become: the same in every world. */
#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

struct ol_tuning { /* times in ticks */
#define OL_TUNABLE(name, ...) uint64_t name;
#include <overlock/tunables.def>
#undef OL_TUNABLE
};

enum ol_event {
#define OL_EVENT(name, what) OL_##name,
#include <overlock/events.def>
#undef OL_EVENT
	OL_EVENTS
};

/* Places and lengths are kept in few buckets: 0, 1, 2, 3, 4-7, 8-15, 16-31, 32 and more. */
enum { OL_PLACES = 8 };

static inline unsigned int ol_place(unsigned int n)
{
	unsigned int place = n < 4 ? n : 33u - (unsigned int)__builtin_clz(n);

	return place < OL_PLACES ? place : OL_PLACES - 1;
}
#endif
