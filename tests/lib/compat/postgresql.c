/* SPDX-License-Identifier: MIT */
/*
 * What PostgreSQL does with its spinlocks, in processes that share memory. s_lock() is PostgreSQL's part;
 * here it acquires as PostgreSQL's does, and counts.
 */
#include <overlock/compat/postgresql.h>

#include "sections.h"

static volatile slock_t *lock;
static int stuck, delays = 7;

static int s_lock(volatile slock_t *l, const char *file, int line, const char *func)
{
	EXPECT(l == lock && strstr(file, "postgresql.c") && line > 0 && *func);
	__atomic_fetch_add(&stuck, 1, __ATOMIC_RELAXED);
	while (TAS_SPIN(l)) {
		SPIN_DELAY();
		sched_yield();
	}
	return delays;
}

CALLS(slock, EXPECT(S_LOCK(lock) == 0), !TAS(lock), S_UNLOCK(lock), !S_LOCK_FREE(lock))
CALLS(slow, EXPECT(S_LOCK(lock) == delays), !TAS_SPIN(lock), S_UNLOCK(lock), !S_LOCK_FREE(lock))

static const struct kind kinds[] = { KIND(slock, true) }, slow = KIND(slow, true);

/* With OL_PG_PATIENCE_NS: a lock that stays held is PostgreSQL's matter. */
static void reports_a_stuck_lock(void)
{
	pthread_t waiter;

	slock_lock();
	waiter = start(call_pair, &slow);
	while (!__atomic_load_n(&stuck, __ATOMIC_RELAXED))
		sched_yield();
	slock_unlock();
	pthread_join(waiter, 0);
	EXPECT(S_LOCK_FREE(lock));
}

int main(int argc, char **argv)
{
	begin(argv);
	lock = (slock_t *)mmap(0, sizeof(*lock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			       -1, 0);
	EXPECT(sizeof(slock_t) == 4);
	memset((void *)(uintptr_t)lock, 0xff, sizeof(*lock));
	S_INIT_LOCK(lock);
	if (argc > 4) {
		reports_a_stuck_lock();
		return 0;
	}
	EXPECT(TAS(lock) == 0 && TAS(lock) != 0 && TAS_SPIN(lock) != 0);
	S_UNLOCK(lock);
	EXPECT(TAS_SPIN(lock) == 0);
	S_UNLOCK(lock);
	judge(kinds, 1, argv);
	exclude_processes(kinds, atoi(argv[1]), atol(argv[2]));
	EXPECT(stuck == 0);
	return 0;
}
