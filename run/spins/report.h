/* SPDX-License-Identifier: MIT */
#ifndef OL_SPINS_REPORT_H
#define OL_SPINS_REPORT_H
/* What was found and done, as JSON: a file PID.json in the folder that OVERLOCK_SPINS_OUTPUT names. */
#include "spins.h"

struct ol_found_loop {
	struct ol_found_loop *next;
	const char *object;
	uint64_t begin, end;
	enum ol_loop_kind kind;
	const char *refused; /* null: its jumps are led through stubs */
	struct site *sites;
	unsigned n_sites;
};

void ol_spins_report_start(const char *why_not);
void ol_spins_report(const struct ol_found_loop *loops);
#endif
