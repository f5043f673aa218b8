/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "subjects.h"
#include "barriers.h"
#include <dlfcn.h>
#include <meeting.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The locks of one file, or of this one. */
struct table {
	const char *kind;
	const struct ol_peer *peers;
	struct table *next;
};
static struct table barriers = { .kind = "barrier", .peers = ol_barriers };
static struct table rtm = { .kind = "peer", .peers = ol_peers_rtm, .next = &barriers };
static struct table first = { .kind = "peer", .peers = ol_peers, .next = &rtm };
static char wrong[512];

bool subject_meets(const struct subject *s)
{
	return s->ops->traits & MEETING_TRAIT;
}

struct subject subject_find(const char *id)
{
	struct subject found = { .ops = ol_find_lock(id) };

	/* Who loads a lock of a name that is taken wants that one: the last is right. */
	for (const struct table *t = &first; t; t = t->next)
		for (const struct ol_peer *p = t->peers; p->ops; p++)
			if (strcmp(p->ops->id, id) == 0)
				found = (struct subject){ p->ops, p->init, barrier_team(p->ops) };
	return found;
}

void subjects_list(void (*each)(const struct ol_lock_ops *ops, const char *kind))
{
	for (const struct ol_lock_ops *const *l = ol_locks; *l; l++)
		each(*l, "lock");
	for (const struct table *t = &first; t; t = t->next)
		for (const struct ol_peer *p = t->peers; p->ops; p++)
			each(p->ops, t->kind);
}

static void append(struct table *table)
{
	struct table *last = &first;

	while (last->next)
		last = last->next;
	last->next = table;
}

/* What the file exports by that name, or null and `wrong`. It stays open: threads may be inside. */
static const void *exported(const char *path, const char *name)
{
	void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const void *symbol = file ? dlsym(file, name) : NULL;

	if (!symbol)
		snprintf(wrong, sizeof(wrong), "%s", dlerror());
	return symbol;
}

static const char *add(const char *path, const char *kind, const struct ol_peer *peers)
{
	struct table *table = malloc(sizeof(*table));

	if (!table)
		return "out of memory";
	for (const struct ol_peer *p = peers; p->ops; p++) {
		if (p->ops->abi == OL_ABI)
			continue;
		free(table);
		snprintf(wrong, sizeof(wrong),
			 "%s was compiled for ABI %u, this is %u; compile it again", path,
			 (unsigned)p->ops->abi, (unsigned)OL_ABI);
		return wrong;
	}
	*table = (struct table){ .kind = kind, .peers = peers };
	append(table);
	return NULL;
}

const char *subjects_load_peers(const char *path)
{
	const struct ol_peer *peers = exported(path, "ol_peers");

	return peers ? add(path, "peer", peers) : wrong;
}

const char *subject_load(const char *path, const char *id)
{
	struct ol_peer *peers = calloc(2, sizeof(*peers));
	const char *failed = wrong;
	char name[128];

	if (!peers)
		return "out of memory";
	snprintf(name, sizeof(name), "ol_ops_%s", id);
	peers->ops = exported(path, name);
	snprintf(name, sizeof(name), "ol_init_%s", id);
	if (peers->ops)
		peers->init = (void (*)(void *))exported(path, name);
	if (peers->ops)
		failed = add(path, "loaded", peers);
	if (failed)
		free(peers);
	return failed;
}
