/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_SLOT_H
#define MONITOR_SLOT_H
/*
 * An entry of a program's page: what is told of a thread, and what the thread says. The kernel takes a pointer to
 * it in a BPF map only if it has no structure of that name itself; it has a `slot`, of PCI.
 */
#include <overlock/slice_page.h>

struct ol_slot {
	struct ol_slice_entry entry;
	struct ol_slice_words words;
};
#endif
