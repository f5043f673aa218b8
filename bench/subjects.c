/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "subjects.h"
#include "peer.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loaded {
	const struct ol_lock_ops *ops;
	struct loaded *next;
};
static struct loaded *all_loaded;

struct subject subject_find(const char *id)
{
	for (const struct loaded *l = all_loaded; l; l = l->next)
		if (strcmp(l->ops->id, id) == 0)
			return (struct subject){ l->ops, NULL };
	for (const struct ol_peer *p = ol_peers; p->ops; p++)
		if (strcmp(p->ops->id, id) == 0)
			return (struct subject){ p->ops, p->init };
	return (struct subject){ ol_find_lock(id), NULL };
}

static const struct ol_lock_ops *load_ops(const char *path, const char *id, char *wrong,
					  size_t size)
{
	void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct ol_lock_ops *ops = NULL;
	char name[128];

	snprintf(name, sizeof(name), "ol_ops_%s", id);
	if (file)
		ops = dlsym(file, name);
	if (!ops)
		snprintf(wrong, size, "%s", dlerror());
	else if (ops->abi != OL_ABI)
		snprintf(wrong, size, "%s was compiled for ABI %u, this is %u; compile it again",
			 path, (unsigned)ops->abi, (unsigned)OL_ABI);
	else
		return ops;
	return NULL;
}

const char *subject_load(const char *path, const char *id)
{
	static char wrong[512];
	struct loaded *l = malloc(sizeof(*l));

	if (!l)
		return "out of memory";
	l->ops = load_ops(path, id, wrong, sizeof(wrong));
	l->next = all_loaded;
	if (!l->ops) {
		free(l);
		return wrong;
	}
	all_loaded = l;
	return NULL;
}

void subjects_list(void (*each)(const struct ol_lock_ops *ops, const char *kind))
{
	for (const struct ol_lock_ops *const *l = ol_locks; *l; l++)
		each(*l, "lock");
	for (const struct ol_peer *p = ol_peers; p->ops; p++)
		each(p->ops, "peer");
	for (const struct loaded *l = all_loaded; l; l = l->next)
		each(l->ops, "loaded");
}
