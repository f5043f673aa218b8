/* SPDX-License-Identifier: MIT */
/*
 * Uncontended lock+unlock pairs for callgrind, which counts the instructions of each loop apart.
 *
 *	pairs inlined|or_fail|table|peers|mutex|company
 *	pairs PLUG-IN
 *
 * A plug-in has other libraries' locks, as overlock-bench takes them: they are called through its table.
 * mutex is a pthread_mutex_t, whoever serves it; company is the same with a second thread alive, for
 * which glibc gives up what it spares a program that has only one.
 *
 * Every loop runs PAIRS and then 2 * PAIRS times, so that the difference is free of what comes
 * once: entering the loop, and the dump itself.
 */
#include "../../../bench/peer.h"

#include <ck_spinlock.h>
#include <dlfcn.h>
#include <overlock/locks.h>
#include <overlock/ops.h>
#include <overlock/or_fail.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#define PAIRS	1000
#define ROOM	8192

/* Called by pointer, so that the compiler knows nothing of the lock; `first` comes once. */
#define LOOP(name, type, first, ...)						\
	static __attribute__((noinline)) void loop_##name(void *raw, long n)	\
	{									\
		__attribute__((unused)) type *l = raw;				\
		first;								\
		for (; n; n--) {						\
			__VA_ARGS__;						\
			__asm__ volatile("" ::: "memory");			\
		}								\
	}

static void count(const char *name, void (*loop)(void *l, long n))
{
	void *l = aligned_alloc(128, ROOM);
	char trigger[80];

	if (!l)
		exit(1);
	memset(l, 0, ROOM);
	for (int times = 1; times <= 2; times++) {
		loop(l, 1); /* what is bound or looked up at the first call */
		snprintf(trigger, sizeof(trigger), "%s %d", name, times);
		CALLGRIND_ZERO_STATS;
		loop(l, times * PAIRS);
		CALLGRIND_DUMP_STATS_AT(trigger);
	}
	free(l);
}

/* The loop itself, to be taken off; and what only a queue or a line costs. */
LOOP(nothing, char, )
LOOP(self, char, , ol_self())
LOOP(node, char, , ol_node_put(ol_node_get()))

#define OL_LOCK(id, gives_up, traits, source, what)				\
	_Static_assert(sizeof(ol_##id##_t) <= ROOM, #id " needs more room");	\
	LOOP(id, ol_##id##_t, , ol_##id##_lock(l); ol_##id##_unlock(l))
#include <overlock/locks.def>
#undef OL_LOCK

static void inlined(void)
{
	count("self", loop_self);
	count("node", loop_node);
#define OL_LOCK(id, gives_up, traits, source, what) count(#id, loop_##id);
#include <overlock/locks.def>
#undef OL_LOCK
}

#define OR_FAIL_waits(id)
#define OR_FAIL_timed(id)							\
	OL_DEFINE_OR_FAIL_timed(id)						\
	LOOP(id##_or_fail, ol_##id##_t, , ol_##id##_lock_or_fail(l, OL_NEVER); ol_##id##_unlock_or_fail(l))
#define OL_LOCK(id, gives_up, ...) OR_FAIL_##gives_up(id)
#include <overlock/locks.def>
#undef OL_LOCK

static void or_fail(void)
{
#define COUNT_waits(id)
#define COUNT_timed(id) count(#id, loop_##id##_or_fail);
#define OL_LOCK(id, gives_up, ...) COUNT_##gives_up(id)
#include <overlock/locks.def>
#undef OL_LOCK
}

static const struct ol_lock_ops *chosen;
LOOP(chosen, char, const struct ol_lock_ops *ops = chosen, ops->lock(l); ops->unlock(l))

static void table(void)
{
	for (const struct ol_lock_ops *const *ops = ol_locks; *ops; ops++) {
		chosen = *ops;
		count(chosen->id, loop_chosen);
	}
}

/* Concurrency Kit's; its queue locks want their nodes from the caller. */
LOOP(ck_fas, ck_spinlock_fas_t, ck_spinlock_fas_init(l), ck_spinlock_fas_lock(l);
     ck_spinlock_fas_unlock(l))
LOOP(ck_cas, ck_spinlock_cas_t, ck_spinlock_cas_init(l), ck_spinlock_cas_lock(l);
     ck_spinlock_cas_unlock(l))
LOOP(ck_dec, ck_spinlock_dec_t, ck_spinlock_dec_init(l), ck_spinlock_dec_lock(l);
     ck_spinlock_dec_unlock(l))
LOOP(ck_ticket, ck_spinlock_ticket_t, ck_spinlock_ticket_init(l), ck_spinlock_ticket_lock(l);
     ck_spinlock_ticket_unlock(l))
LOOP(ck_ticket_pb, ck_spinlock_ticket_t, ck_spinlock_ticket_init(l),
     ck_spinlock_ticket_lock_pb(l, 5);
     ck_spinlock_ticket_unlock(l))
LOOP(ck_mcs, ck_spinlock_mcs_t, ck_spinlock_mcs_context_t node;
     ck_spinlock_mcs_init(l), ck_spinlock_mcs_lock(l, &node); ck_spinlock_mcs_unlock(l, &node))
static ck_spinlock_clh_t nodes[2];
LOOP(ck_clh, ck_spinlock_clh_t *, ck_spinlock_clh_t *node = &nodes[1];
     ck_spinlock_clh_init(l, &nodes[0]), ck_spinlock_clh_lock(l, node);
     ck_spinlock_clh_unlock(&node))
static ck_spinlock_anderson_thread_t slots[32]; /* as many as ours has */
LOOP(ck_anderson, ck_spinlock_anderson_t, ck_spinlock_anderson_thread_t *slot;
     ck_spinlock_anderson_init(l, slots, 32), ck_spinlock_anderson_lock(l, &slot);
     ck_spinlock_anderson_unlock(l, slot))
LOOP(pthread_mutex, pthread_mutex_t, , pthread_mutex_lock(l); pthread_mutex_unlock(l))
LOOP(pthread_spin, pthread_spinlock_t, pthread_spin_init(l, 0), pthread_spin_lock(l);
     pthread_spin_unlock(l))

static void peers(void)
{
	count("ck_fas", loop_ck_fas);
	count("ck_cas", loop_ck_cas);
	count("ck_dec", loop_ck_dec);
	count("ck_ticket", loop_ck_ticket);
	count("ck_ticket_pb", loop_ck_ticket_pb);
	count("ck_mcs", loop_ck_mcs);
	count("ck_clh", loop_ck_clh);
	count("ck_anderson", loop_ck_anderson);
	count("pthread_spin", loop_pthread_spin);
	count("pthread_mutex", loop_pthread_mutex);
}

static const struct ol_peer *other;

static void loop_other(void *l, long n)
{
	if (other->init)
		other->init(l);
	chosen = other->ops;
	loop_chosen(l, n);
}

static int plugin(const char *file)
{
	void *opened = dlopen(file, RTLD_NOW);
	const struct ol_peer *peers = opened ? dlsym(opened, "ol_peers") : 0;

	if (!peers)
		return 2;
	for (other = peers; other->ops; other++)
		count(other->ops->id, loop_other);
	return 0;
}

static void *sleeper(void *unused)
{
	(void)unused;
	pause();
	return 0;
}

static void company(void)
{
	pthread_t thread;

	if (pthread_create(&thread, 0, sleeper, 0))
		exit(1);
	count("mutex", loop_pthread_mutex);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	count("nothing", loop_nothing);
	if (strcmp(what, "inlined") == 0)
		inlined();
	else if (strcmp(what, "or_fail") == 0)
		or_fail();
	else if (strcmp(what, "table") == 0)
		table();
	else if (strcmp(what, "peers") == 0)
		peers();
	else if (strcmp(what, "mutex") == 0)
		count("mutex", loop_pthread_mutex);
	else if (strcmp(what, "company") == 0)
		company();
	else
		return plugin(what);
	return 0;
}
