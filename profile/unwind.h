/* SPDX-License-Identifier: MIT */
#ifndef OL_UNWIND_H
#define OL_UNWIND_H
/* Call chains of the watched process, from the tables for exceptions that every object has: libdw. */
#include "waits.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MOST_FRAMES = 48 };

/* An instruction: the object, by its number, and the address that the object's own symbols have. */
struct frame {
	int32_t module; /* below 0: none */
	uint64_t offset;
};

bool unwind_open(pid_t process);
/* It has become another program. */
void unwind_begin(void);
/*
 * To be called now and then: the objects are read again whenever the process is twice as old, since the stack of
 * a long wait may come when it has ended.
 */
void unwind_look(void);
/* If what was known to be mapped there is not any more, the objects are read again. */
void unwind_check(uint64_t address);
struct frame unwind_find(uint64_t address);
/* In what was read already, which an address of no code is no reason to read again. */
struct frame unwind_known(uint64_t address);
/*
 * Innermost first. The calls, not where they return to. `scanned`: after the first the frames are pairs of
 * scan.h, a function that was called and its caller, of which some are over.
 */
unsigned unwind_stack(const struct stack_record *record, struct frame *frames, bool *scanned);
/* The path of each object so far; null after the last. */
const char *unwind_module(unsigned number);
/* What tells it from another file of that name: its build ID, else SIZE@MTIME; empty: nothing. */
const char *unwind_identity(unsigned number);
void unwind_close(void);
#endif
