/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_REPLAY_FORMAT_H
#define WORKLOAD_REPLAY_FORMAT_H
/*
 * What is made of a trace for a replay (python/overlock_tools/core/trace/plan.py): for each thread the operations
 * that it repeats. Each ends a stretch of sleep, then work. The file is in this machine's byte order: it
 * lives as long as the measurement.
 */
#include <overlock/port.h>

enum { REPLAY_THREADS = 1024, REPLAY_LOCKS = 65536 };
enum replay_kind { REPLAY_ACQUIRE, REPLAY_RELEASE, REPLAY_NOTHING, REPLAY_KINDS };

#define REPLAY_MAGIC	"OLREPLY1"

struct replay_op {
	uint64_t idle_ns;
	uint64_t work; /* ns in the file, then units of workload_burn() */
	uint32_t lock, kind;
};

struct replay_thread {
	uint64_t first, n; /* of the operations */
};

/* The operations follow it. */
struct replay_head {
	char magic[8];
	uint32_t threads, locks;
	uint64_t ops;
	struct replay_thread of[REPLAY_THREADS];
};

static inline struct replay_op *replay_ops(struct replay_head *p)
{
	return (struct replay_op *)(p + 1);
}

/* Null, or what is wrong with a thread's operations. A spinlock of a kernel is not slept under. */
static inline const char *replay_check_ops(struct replay_head *p, const struct replay_thread *t,
					   bool may_sleep_inside)
{
	uint32_t held = 0;

	for (uint64_t i = 0; i < t->n; i++) {
		const struct replay_op *op = &replay_ops(p)[t->first + i];

		if (op->kind >= REPLAY_KINDS || op->lock >= p->locks)
			return "an operation is unknown, or its lock is";
		if (held && op->idle_ns && !may_sleep_inside)
			return "a thread sleeps while it holds a lock";
		held += op->kind == REPLAY_ACQUIRE;
		if (op->kind == REPLAY_RELEASE && !held--)
			return "a lock is released that is not held";
	}
	return held ? "a lock is not released at the end" : (const char *)0;
}

/* Null, or what is wrong with a file of that size. */
static inline const char *replay_check_file(struct replay_head *p, uint64_t size,
					    bool may_sleep_inside)
{
	if (size < sizeof(*p))
		return "it is no plan of a replay";
	for (uint32_t i = 0; i < sizeof(p->magic); i++)
		if (p->magic[i] != REPLAY_MAGIC[i])
			return "it is no plan of a replay";
	if (p->threads < 1 || p->threads > REPLAY_THREADS || p->locks < 1 ||
	    p->locks > REPLAY_LOCKS)
		return "it has no threads or locks, or too many";
	if (p->ops > (size - sizeof(*p)) / sizeof(struct replay_op))
		return "operations are missing";
	for (uint32_t i = 0; i < p->threads; i++) {
		const struct replay_thread *t = &p->of[i];
		const char *error;

		if (!t->n || t->n > p->ops || t->first > p->ops - t->n)
			return "a thread has no operations";
		error = replay_check_ops(p, t, may_sleep_inside);
		if (error)
			return error;
	}
	return (const char *)0;
}
#endif
