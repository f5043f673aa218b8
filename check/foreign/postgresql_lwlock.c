// SPDX-License-Identifier: MIT
// PostgreSQL's LWLock. Its semaphores, on which backends sleep, are counted in our words.
// brings: src/include/storage/s_lock.h src/backend/storage/lmgr/s_lock.c
// brings: src/include/port/atomics/generic-gcc.h src/include/storage/proclist_types.h
// brings: src/include/storage/lwlock.h src/include/storage/proclist.h src/backend/storage/lmgr/lwlock.c
// replaces: static int\s+spins_per_delay = DEFAULT_SPINS_PER_DELAY; =>
// replaces: static int\s+num_held_lwlocks = 0; => static int ol_num_held[16];\n#define num_held_lwlocks ol_num_held[ol_checked_self()]
// replaces: static LWLockHandle held_lwlocks\[MAX_SIMUL_LWLOCKS\]; => static LWLockHandle ol_held[16][4];\n#define held_lwlocks ol_held[ol_checked_self()]
// replaces: (?s)static int\nNumLWLocksForNamedTranches.*?(?=/\*\n \* LWLockInitialize) =>
#include "postgresql.h"

#define pg_compiler_barrier()	__asm__ volatile("" ::: "memory")
#define pg_read_barrier()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define pg_write_barrier()	__atomic_thread_fence(__ATOMIC_RELEASE)
#define INSIDE_ATOMICS_H
#define NAMEDATALEN		64
#define PG_USED_FOR_ASSERTS_ONLY
#define AssertVariableIsOfTypeMacro(v, type) 1
#include "generic-gcc.h"
#define PG_CACHE_LINE_SIZE	128
#define INVALID_PGPROCNO	INT32_MAX
#define pg_atomic_init_u32(v, to)	((v)->value = (to))
#define pg_atomic_read_u32(v)		__atomic_load_n(&(v)->value, __ATOMIC_RELAXED)
#define pg_atomic_read_u64(v)		__atomic_load_n(&(v)->value, __ATOMIC_RELAXED)
#define pg_atomic_compare_exchange_u32	pg_atomic_compare_exchange_u32_impl
#define pg_atomic_fetch_or_u32(v, bits)	__sync_fetch_and_or(&(v)->value, (bits))
#define pg_atomic_fetch_and_u32(v, bits) __sync_fetch_and_and(&(v)->value, (bits))
#define pg_atomic_sub_fetch_u32(v, n)	__sync_sub_and_fetch(&(v)->value, (n))
#define NUM_INDIVIDUAL_LWLOCKS	0
#include "proclist_types.h"
#include "lwlock.h"

#define TRACE_POSTGRESQL_LWLOCK_WAIT_START_ENABLED()	0
#define TRACE_POSTGRESQL_LWLOCK_WAIT_DONE_ENABLED()	0
#define TRACE_POSTGRESQL_LWLOCK_ACQUIRE_ENABLED()	0
#define TRACE_POSTGRESQL_LWLOCK_RELEASE_ENABLED()	0
#define TRACE_POSTGRESQL_LWLOCK_CONDACQUIRE_ENABLED()	0
#define TRACE_POSTGRESQL_LWLOCK_CONDACQUIRE_FAIL_ENABLED() 0
#define TRACE_POSTGRESQL_LWLOCK_ACQUIRE_OR_WAIT_ENABLED() 0
#define TRACE_POSTGRESQL_LWLOCK_ACQUIRE_OR_WAIT_FAIL_ENABLED() 0
#define TRACE_POSTGRESQL_LWLOCK_WAIT_START(...)
#define TRACE_POSTGRESQL_LWLOCK_WAIT_DONE(...)
#define TRACE_POSTGRESQL_LWLOCK_ACQUIRE(...)
#define TRACE_POSTGRESQL_LWLOCK_RELEASE(...)
#define TRACE_POSTGRESQL_LWLOCK_CONDACQUIRE(...)
#define TRACE_POSTGRESQL_LWLOCK_CONDACQUIRE_FAIL(...)
#define TRACE_POSTGRESQL_LWLOCK_ACQUIRE_OR_WAIT(...)
#define TRACE_POSTGRESQL_LWLOCK_ACQUIRE_OR_WAIT_FAIL(...)
#define pgstat_report_wait_start(...)
#define pgstat_report_wait_end()
#define HOLD_INTERRUPTS()
#define RESUME_INTERRUPTS()
#define PG_WAIT_LWLOCK		0
#define IsUnderPostmaster	true

typedef unsigned *PGSemaphore;
typedef struct PGPROC {
	uint8 lwWaiting;
	uint8 lwWaitMode;
	proclist_node lwWaitLink;
	PGSemaphore sem;
	int pgprocno;
} PGPROC;
static PGPROC processes[16];
static unsigned semaphores[16];
#define MyProc			(&processes[ol_checked_self()])
#define GetPGProcByNumber(n)	(&processes[n])

static void PGSemaphoreLock(PGSemaphore s)
{
	unsigned n = __atomic_load_n(s, __ATOMIC_RELAXED);

	while (!n || !__atomic_compare_exchange_n(s, &n, n - 1, false, __ATOMIC_ACQUIRE,
						  __ATOMIC_RELAXED))
		if (!n) {
			ol_checked_futex_wait(s, 0, ~0u, false);
			n = __atomic_load_n(s, __ATOMIC_RELAXED);
		}
}

static void PGSemaphoreUnlock(PGSemaphore s)
{
	__atomic_fetch_add(s, 1, __ATOMIC_RELEASE);
	ol_checked_futex_wake(s, 1, ~0u);
}

#include "proclist.h"
#include "lwlock.c"
const char *const IndividualLWLockNames[1];

static void start(void *o)
{
	for (int i = 0; i < 16; i++) {
		processes[i].sem = &semaphores[i];
		processes[i].pgprocno = i;
	}
	LWLockInitialize(o, 0);
}

static void lock(void *o)
{
	LWLockAcquire(o, LW_EXCLUSIVE);
}

static bool try_to_lock(void *o)
{
	return LWLockConditionalAcquire(o, LW_EXCLUSIVE);
}

static void lock_shared(void *o)
{
	LWLockAcquire(o, LW_SHARED);
}

static void release(void *o)
{
	LWLockRelease(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "PostgreSQL LWLock",
	.size = sizeof(LWLock),
	.init = start,
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
	.read_lock = lock_shared,
	.read_unlock = release,
};
