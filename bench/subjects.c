/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "subjects.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void prepare_mutex(void *l)
{
	pthread_mutex_init(l, NULL);
}

static void prepare_adaptive(void *l)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(l, &attr);
	pthread_mutexattr_destroy(&attr);
}

static void prepare_spin(void *l)
{
	pthread_spin_init(l, PTHREAD_PROCESS_PRIVATE); /* free is not zero on x86 */
}

/* Through the same table of functions as the locks, so that the indirect call costs all alike. */
#define PEER(name, type, calls, prepare, text)		\
	static void name##_do_lock(void *l)		\
	{						\
		calls##_lock((type *)l);		\
	}						\
	static bool name##_do_trylock(void *l)		\
	{						\
		return calls##_trylock((type *)l) == 0;	\
	}						\
	static void name##_do_unlock(void *l)		\
	{						\
		calls##_unlock((type *)l);		\
	}						\
	static const struct ol_lock_ops name##_ops = {	\
		.id = #name, .source = "glibc", .what = (text),			\
		.abi = OL_ABI, .size = sizeof(type), .align = _Alignof(type),	\
		.lock = name##_do_lock, .trylock = name##_do_trylock,		\
		.unlock = name##_do_unlock,					\
	};
#include "peers.def"
#undef PEER

static const struct subject peers[] = {
#define PEER(name, type, calls, prepare, text) { &name##_ops, prepare },
#include "peers.def"
#undef PEER
};

#define N_PEERS	(sizeof(peers) / sizeof(peers[0]))

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
	for (size_t i = 0; i < N_PEERS; i++)
		if (strcmp(peers[i].ops->id, id) == 0)
			return peers[i];
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
	for (size_t i = 0; i < N_PEERS; i++)
		each(peers[i].ops, "peer");
	for (const struct loaded *l = all_loaded; l; l = l->next)
		each(l->ops, "loaded");
}
