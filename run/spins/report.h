/* SPDX-License-Identifier: MIT */
#ifndef OL_SPINS_REPORT_H
#define OL_SPINS_REPORT_H
/* What was found and done, as JSON: a file PID.json in the folder that OVERLOCK_SPINS_OUTPUT names. */
#include "spins.h"

#include <link.h>

struct ol_found_loop {
	struct ol_found_loop *next;
	uint64_t begin, end;
	enum ol_loop_kind kind;
	const char *refused; /* null: its jumps are retargeted */
	unsigned retargeted; /* how often: again when the object was loaded again */
	struct site *sites;
	unsigned n_sites;
};

/* An object that was looked at, at that place; it stays when the object goes, for it may come again. */
struct ol_object {
	struct ol_object *next;
	const char *name;
	uint64_t base;
	const ElfW(Phdr) * segments;
	char id[OL_BUILD_ID];
	struct ol_found_loop *loops;
	unsigned char *stubs; /* of its sites, in their order; null: none are retargeted */
};

/* Where to, as it was when the process began; and why nothing was, or not all, if that is not null. */
void ol_spins_report_start(void);
void ol_spins_report(const struct ol_object *objects, const char *why_not, bool is_last);
#endif
