/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_SLOT_H
#define MONITOR_SLOT_H
/* An entry of a program's page: what is told of a thread, and what the thread says. */
#include <overlock/slice_page.h>

struct slot {
	struct ol_slice_entry entry;
	struct ol_slice_words words;
};
#endif
