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
#endif
