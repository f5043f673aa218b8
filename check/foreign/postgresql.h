/* SPDX-License-Identifier: MIT */
/*
 * What PostgreSQL's s_lock.c and lwlock.c find in its other headers, in our words. Its branches for machines
 * without assembler of their own are compiled: test-and-set and atomics by GCC's builtins. A process is a
 * context.
 */
#include <overlock/checked.h>

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef uint8_t uint8;
typedef uint16_t uint16;
typedef int32_t int32;
typedef uint32_t uint32;
typedef int64_t int64;
typedef uint64_t uint64;
typedef size_t Size;
#define PGDLLIMPORT
#define pg_attribute_aligned(a)
#define pg_attribute_unused()
#define pg_unreachable()	__builtin_unreachable()
#define likely(x)		(x)
#define unlikely(x)		(x)
#define Min(a, b)		((a) < (b) ? (a) : (b))
#define Max(a, b)		((a) > (b) ? (a) : (b))
#define StaticAssertStmt(...)
#define StaticAssertDecl(...)
#define AssertMacro(x)		((void)0)
#define AssertPointerAlignment(...)
#define PG_FUNCNAME_MACRO	__func__
#define PANIC			0
#define ERROR			1
#define elog(level, ...)	ol_checked_fail("PostgreSQL's elog(" #level ")")
#define Assert(x)		do { if (!(x)) ol_checked_fail("PostgreSQL's assertion: " #x); } while (0)
#define AssertArg(x)		Assert(x)
#define pg_usleep(time)		((void)(time))
#define pg_prng_double(state)	0

#define HAVE_SPINLOCKS		1
#define HAVE_GCC__SYNC_INT32_TAS 1
#define HAVE_GCC__ATOMIC_INT32_CAS 1
#define HAVE_GCC__ATOMIC_INT64_CAS 1
#define HAVE_GCC__SYNC_INT32_CAS 1
#define HAVE_ATOMICS		1

static int ol_spins_per_delay[16];

/* Its branch that tests and sets by builtins is the one for ARM. */
#undef __x86_64__
#define __aarch64__
#include "s_lock.h"
#undef __aarch64__
#define __x86_64__ 1
#undef SPIN_DELAY
/* It gives up with a PANIC, after a minute. */
#define SPIN_DELAY()	ol_checked_spin_endlessly()
#define spins_per_delay	ol_spins_per_delay[ol_checked_self()]
#include "s_lock.c"
