/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_SCAN_H
#define MONITOR_SCAN_H
/*
 * Call chains of objects without tables for unwinding, as musl's C library: by the stack alone.
 *
 * A word on it is taken for a return address if the instruction before that is a call whose target is known.
 * Some are left over from calls that are over. So both are told, the target and the call: one can see
 * whether a function was called that waits, and where. Code is read from files: the process may be gone.
 */
#include "waits.h"
#include <elfutils/libdwfl.h>
#include <stdint.h>

struct scanned_call {
	uint64_t target, caller; /* a function; an address within the call */
};

/* What was found so far; the objects are others now. */
void scan_forget(void);

/* Innermost first; at most as many as asked for. */
unsigned scan_stack(Dwfl *objects, const struct stack_record *record, struct scanned_call *calls,
		    unsigned most);
#endif
