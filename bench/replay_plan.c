/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "replay_plan.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct replay_head *replay_plan;
static const char magic[8] = "OLREPLY1";

static const char *check_ops(const struct replay_head *p, const struct replay_thread *t)
{
	uint32_t held = 0;

	for (uint64_t i = 0; i < t->n; i++) {
		const struct replay_op *op = &p->op[t->first + i];

		if (op->kind >= REPLAY_KINDS || op->lock >= p->locks)
			return "an operation is unknown, or its lock is";
		held += op->kind == REPLAY_ACQUIRE;
		if (op->kind == REPLAY_RELEASE && !held--)
			return "a lock is released that is not held";
	}
	return held ? "a lock is not released at the end" : NULL;
}

static const char *check(const struct replay_head *p, uint64_t size)
{
	if (size < sizeof(*p) || memcmp(p->magic, magic, sizeof(magic)) != 0)
		return "it is no plan of a replay";
	if (p->threads < 1 || p->threads > REPLAY_THREADS || p->locks < 1 ||
	    p->locks > REPLAY_LOCKS)
		return "it has no threads or locks, or too many";
	if (p->ops > (size - sizeof(*p)) / sizeof(p->op[0]))
		return "operations are missing";
	for (uint32_t i = 0; i < p->threads; i++) {
		const struct replay_thread *t = &p->of[i];
		const char *error;

		if (!t->n || t->n > p->ops || t->first > p->ops - t->n)
			return "a thread has no operations";
		error = check_ops(p, t);
		if (error)
			return error;
	}
	return NULL;
}

const char *replay_load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *error;
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return "it cannot be opened";
	if (!fstat(fd, &st) && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return "it cannot be mapped";
	error = check(p, (uint64_t)st.st_size);
	if (!error)
		replay_plan = p;
	return error;
}

void replay_convert(double unit_ns)
{
	for (uint64_t i = 0; replay_plan && i < replay_plan->ops; i++)
		replay_plan->op[i].work =
			(uint64_t)((double)replay_plan->op[i].work / unit_ns + 0.5);
}
