/* SPDX-License-Identifier: MIT */
#include "openmp.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* As GCC declares them (libgomp_g.h). */
typedef void parallel_function(void (*body)(void *), void *data, unsigned threads, unsigned flags);
typedef void barrier_function(void);
typedef int number_function(void);

struct runtime {
	parallel_function *parallel;
	barrier_function *barrier;
	number_function *index, *size;
};

static char wrong[256];

static const char *load(struct runtime *r, const char *file, const char *package)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (library) {
		r->parallel = (parallel_function *)dlsym(library, "GOMP_parallel");
		r->barrier = (barrier_function *)dlsym(library, "GOMP_barrier");
		r->index = (number_function *)dlsym(library, "omp_get_thread_num");
		r->size = (number_function *)dlsym(library, "omp_get_num_threads");
	}
	if (library && r->parallel && r->barrier && r->index && r->size)
		return NULL;
	snprintf(wrong, sizeof(wrong), "%s (Debian: apt install %s)", dlerror(), package);
	return wrong;
}

struct team {
	struct runtime *runtime;
	unsigned wanted, got;
	ol_context *context;
	void *arg;
};

static void member(void *arg)
{
	struct team *t = arg;
	unsigned i = (unsigned)t->runtime->index(), n = (unsigned)t->runtime->size();

	if (i == 0)
		t->got = n; /* read by the same thread, after the team has ended */
	if (n == t->wanted)
		t->context(t->arg, i);
}

static const char *lead(struct team *t, const char *file, const char *package)
{
	const char *failed = load(t->runtime, file, package);

	if (failed)
		return failed;
	t->runtime->parallel(member, t, t->wanted, 0);
	if (t->got == t->wanted)
		return NULL;
	snprintf(wrong, sizeof(wrong), "%s starts %u threads, not %u (see OMP_THREAD_LIMIT)", file,
		 t->got, t->wanted);
	return wrong;
}

#define RUNTIME(name, file, package)							\
	static struct runtime name;							\
	const char *openmp_team_##name(unsigned n, ol_context *context, void *arg)	\
	{										\
		struct team t = {							\
			.runtime = &name, .wanted = n, .context = context, .arg = arg	\
		};									\
		return lead(&t, file, package);						\
	}										\
	void openmp_barrier_##name(void)						\
	{										\
		name.barrier();								\
	}

RUNTIME(gnu, "libgomp.so.1", "libgomp1")
RUNTIME(llvm, "libomp.so.5", "libomp5")
