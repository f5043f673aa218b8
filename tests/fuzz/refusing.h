/* SPDX-License-Identifier: MIT */
#ifndef REFUSING_H
#define REFUSING_H
/* What the interposer's files ask of its others. It ends the program where it refuses; here, the input. */
#include "must.h"

#include "run/interposer.h"
#include <setjmp.h>

static jmp_buf refused;

_Noreturn void ol_run_refuse(const char *what, const char *why)
{
	must(what && *why, "a refusal does not say why");
	longjmp(refused, 1);
}

const struct ol_lock_ops *ol_run_lock_named(const char *id)
{
	static const struct ol_lock_ops some;

	if (strcmp(id, "ticket") != 0)
		ol_run_refuse(id, "unknown lock");
	return &some;
}
#endif
