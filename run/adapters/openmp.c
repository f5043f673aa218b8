/* SPDX-License-Identifier: MIT */
/*
 * OpenMP's locks and critical sections, as programs call them: in LLVM's and Intel's runtime (libomp,
 * libiomp5) and in GNU's (libgomp).
 *
 * A lock of OpenMP is 4 bytes here, since libgomp's omp_lock_t has no more and LLVM's runtime, which also
 * serves what gcc compiled, uses no more of its 8. They hold a handle: the number of a mutex on a cache line
 * of its own. So such a lock is all that a mutex is: any lock that `--lock` and `--site` can name, waiters
 * that sleep when a wait gets long, recursion for nested locks, forks, counters and checks.
 *
 *	handle	NONE: not initialised; SIMPLE, NESTED: initialised, and gets its mutex by its first use, for
 *		programs may have millions of locks of which they use few; else the mutex, which
 *		omp_destroy_lock() frees. A critical section needs no initialising and stays for good
 *
 * Several runtimes may be in one process, so each call is served or passed on by the runtime that it would
 * have reached without us. It is looked up once for each place that calls. Left to the runtime are
 *
 *	nested locks of libgomp: they belong to tasks, and no function tells which task runs;
 *	LLVM's, if an OMPT tool is to see every lock, or KMP_CONSISTENCY_CHECK wants errors reported;
 *	all if `--openmp none` or OVERLOCK_DISABLE says so;
 *	what libomp uses within: `ordered`, reductions, atomics of long types.
 *
 * In LLVM's runtime a nested lock belongs to a thread, as here.
 */
#include "../defaults.h"
#include "../interposer.h"
#include "bare.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * ROUTINE(kind, type, name, parameters, arguments, ours): `kind` is simple or nested, `ours` what we do.
 * Each lock routine has three names: C's, Fortran's, and that of compilers.
 */
#define LOCK_ROUTINE(ROUTINE, kind, type, name, ours)                                             \
	ROUTINE(kind, type, omp_##name, (void *l), (l), ours)                                      \
	ROUTINE(kind, type, omp_##name##_, (void *l), (l), ours)                                   \
	ROUTINE(kind, type, __kmpc_##name, (void *at, int32_t gtid, void *l), (at, gtid, l), ours)

#define HINTED_ROUTINE(ROUTINE, kind, type, name, ours)                                           \
	ROUTINE(kind, type, omp_##name, (void *l, uintptr_t hint), (l, hint), ours)                \
	ROUTINE(kind, type, omp_##name##_, (void *l, uintptr_t hint), (l, hint), ours)             \
	ROUTINE(kind, type, __kmpc_##name, (void *at, int32_t gtid, void *l, uintptr_t hint),      \
		(at, gtid, l, hint), ours)

#define ROUTINES(ROUTINE)                                                                         \
	LOCK_ROUTINE(ROUTINE, simple, void, init_lock, init(l, SIMPLE))                           \
	HINTED_ROUTINE(ROUTINE, simple, void, init_lock_with_hint,                                \
		       init(l, SIMPLE))                                                           \
	LOCK_ROUTINE(ROUTINE, simple, void, destroy_lock, destroy(l))                             \
	LOCK_ROUTINE(ROUTINE, simple, void, set_lock, set(l, CALLER))                             \
	LOCK_ROUTINE(ROUTINE, simple, void, unset_lock, unset(l, CALLER))                         \
	LOCK_ROUTINE(ROUTINE, simple, int, test_lock, test(l, CALLER))                            \
	LOCK_ROUTINE(ROUTINE, nested, void, init_nest_lock, init(l, NESTED))                      \
	HINTED_ROUTINE(ROUTINE, nested, void, init_nest_lock_with_hint,                           \
		       init(l, NESTED))                                                           \
	LOCK_ROUTINE(ROUTINE, nested, void, destroy_nest_lock, destroy(l))                        \
	LOCK_ROUTINE(ROUTINE, nested, void, set_nest_lock, set(l, CALLER))                        \
	LOCK_ROUTINE(ROUTINE, nested, void, unset_nest_lock, unset(l, CALLER))                    \
	LOCK_ROUTINE(ROUTINE, nested, int, test_nest_lock, test(l, CALLER))                       \
	ROUTINE(simple, void, __kmpc_critical, (void *at, int32_t gtid, void *section),           \
		(at, gtid, section), enter(section, CALLER))                                      \
	ROUTINE(simple, void, __kmpc_critical_with_hint,                                          \
		(void *at, int32_t gtid, void *section, uint32_t hint), (at, gtid, section, hint), \
		enter(section, CALLER))                                                           \
	ROUTINE(simple, void, __kmpc_end_critical, (void *at, int32_t gtid, void *section),       \
		(at, gtid, section), unset(section, CALLER))                                      \
	ROUTINE(simple, void, GOMP_critical_start, (void), (), enter(&unnamed, CALLER))           \
	ROUTINE(simple, void, GOMP_critical_end, (void), (), unset(&unnamed, CALLER))             \
	ROUTINE(simple, void, GOMP_critical_name_start, (void *section), (section),               \
		enter(section, CALLER))                                                           \
	ROUTINE(simple, void, GOMP_critical_name_end, (void *section), (section), unset(section, CALLER))

/* As libomp does: these functions have no way to return an error. */
static _Noreturn OL_COLD void fail(const char *why)
{
	char text[100];
	const char *end = stpcpy(stpcpy(stpcpy(text, "overlock: OpenMP lock: "), why), "\n");

	ol_bare_write(STDERR_FILENO, text, (size_t)(end - text));
	abort();
}

static _Noreturn OL_COLD void fail_uninitialised(void)
{
	fail("is used before omp_init_lock(), or after omp_destroy_lock()");
}

/* The mutexes. */

struct object {
	struct mutex mutex;
	uint32_t next_free; /* handle */
} __attribute__((aligned(64)));

/*
 * Handles begin at 1 << FEWEST, and those from 1 << n up to 1 << (n + 1) are in segment n: room grows as
 * more locks are made, and none of it moves.
 */
enum { FEWEST = 10, SEGMENTS = 32 };
enum { NONE, SIMPLE, NESTED, FIRST_HANDLE = 1 << FEWEST };
static struct object *segments[SEGMENTS];
static uint32_t next_handle = FIRST_HANDLE;
/* Lower half: the first one, or 0; upper: changes each time, against ABA. */
static uint64_t free_handles;

static inline unsigned segment_of(uint32_t handle)
{
	return 31 - (unsigned)__builtin_clz(handle | 1);
}

/* Acquire: the segment's memory, which another thread has mapped. */
static inline struct object *object_of(uint32_t handle)
{
	unsigned n = segment_of(handle);
	struct object *segment = ol_load_acquire(&segments[n]);

	if (OL_UNLIKELY(!segment))
		fail_uninitialised();
	return segment + (handle ^ (1u << n));
}

static void make_segment(unsigned n)
{
	size_t size = sizeof(struct object) << n;
	void *made = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (made == MAP_FAILED)
		fail("out of memory");
	if (!ol_cas_release(&segments[n], (struct object *)0, made)) /* release: as object_of() */
		munmap(made, size);
}

/* Acquire: what the last user of the object wrote in it, which give_back() released. */
static uint32_t take_free(void)
{
	uint64_t first;
	uint32_t handle, next;

	do {
		first = ol_load_acquire(&free_handles);
		handle = (uint32_t)first;
		if (!handle)
			return 0;
		next = ol_load_relaxed(&object_of(handle)->next_free);
	} while (!ol_cas_acquire(&free_handles, first, ((first >> 32) + 1) << 32 | next));
	return handle;
}

static void give_back(uint32_t handle)
{
	uint64_t first;

	do {
		first = ol_load_relaxed(&free_handles);
		ol_store_relaxed(&object_of(handle)->next_free, (uint32_t)first);
	} while (!ol_cas_release(&free_handles, first, ((first >> 32) + 1) << 32 | handle));
}

static uint32_t new_handle(void)
{
	uint32_t handle = take_free();

	if (handle)
		return handle;
	handle = ol_add_relaxed(&next_handle, 1u); /* unique; orders nothing */
	if (!handle)
		fail("too many locks");
	if (!ol_load_acquire(&segments[segment_of(handle)]))
		make_segment(segment_of(handle));
	return handle;
}

/* Of a kind, free, with the lock that `--site` says for the function that makes it, or OpenMP's. */
static uint32_t make(uint32_t kind, const void *site)
{
	uint32_t handle = new_handle();

	object_of(handle)->mutex = (struct mutex){ .kind = kind | ol_run_openmp_kind(site) };
	return handle;
}

/* What the routines do. A word is a lock of the program. */

static uint32_t kind_of_mutex(uint32_t word)
{
	return word == NESTED ? PTHREAD_MUTEX_RECURSIVE_NP : PTHREAD_MUTEX_TIMED_NP;
}

/* Two threads may make one at once; one of them stays. */
static OL_COLD uint32_t first_use(uint32_t *word, uint32_t was, const void *site)
{
	uint32_t made;

	if (was != SIMPLE && was != NESTED)
		fail_uninitialised();
	made = make(kind_of_mutex(was), site);
	if (ol_cas_release(word, was, made)) /* release: the mutex */
		return made;
	give_back(made);
	return ol_load_acquire(word);
}

static inline struct mutex *mutex_in(uint32_t *word, const void *site)
{
	uint32_t handle = ol_load_acquire(word); /* the mutex, whichever thread has made it */

	if (OL_UNLIKELY(handle < FIRST_HANDLE))
		handle = first_use(word, handle, site);
	return &object_of(handle)->mutex;
}

static void destroy_mutex(const struct mutex *m)
{
	const struct ol_lock_ops *ops = ol_run_mutex_ops(m);

	ol_run_misuse_destroy(m, ops && ops->is_locked(m->lock));
}

static void init(uint32_t *word, uint32_t type)
{
	ol_store_relaxed(word, type); /* the program sees to it that others use it later */
}

static void destroy(uint32_t *word)
{
	uint32_t handle = ol_load_acquire(word);

	ol_store_relaxed(word, (uint32_t)NONE);
	if (handle == SIMPLE || handle == NESTED)
		return;
	destroy_mutex(&object_of(handle)->mutex);
	give_back(handle);
}

static void set(uint32_t *word, const void *site)
{
	ol_run_mutex_lock(mutex_in(word, site), site);
}

static void unset(uint32_t *word, const void *site)
{
	ol_run_mutex_unlock(mutex_in(word, site));
}

/* How many times it is held now, 0 if another thread has it. */
static int test(uint32_t *word, const void *site)
{
	struct mutex *m = mutex_in(word, site);

	return ol_run_mutex_trylock(m, site) ? 0 : (int)m->depth + 1;
}

static inline void enter(uint32_t *word, const void *site)
{
	if (OL_UNLIKELY(ol_load_relaxed(word) == NONE))
		ol_cas_relaxed(word, (uint32_t)NONE, (uint32_t)SIMPLE);
	set(word, site);
}

/* The critical section without a name, of gcc's programs. */
static uint32_t unnamed;

/* The runtimes. */

struct runtime {
	struct runtime *next;
	const void *base;		   /* where the loader has put it; null: there is none */
	bool serves_simple, serves_nested; /* we do, in its place */
#define ROUTINE(kind, type, name, params, args, ours) type(*name) params;
	ROUTINES(ROUTINE)
#undef ROUTINE
};
static struct runtime *runtimes;

static bool is_set(const char *variable, const char *off)
{
	const char *value = getenv(variable);

	return value && *value && strcasecmp(value, off) != 0;
}

static const void *base_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fbase : 0;
}

/* An OMPT tool gets to know of locks from the runtime, which defines ompt_start_tool() itself. */
static bool has_tool(const struct runtime *r)
{
	const void *start = dlsym(RTLD_DEFAULT, "ompt_start_tool");
	const char *tools = getenv("OMP_TOOL");

	if (tools && !strcasecmp(tools, "disabled"))
		return false;
	return is_set("OMP_TOOL_LIBRARIES", "") || (start && base_of(start) != r->base);
}

static void decide(struct runtime *r)
{
	const char *asked = secure_getenv("OVERLOCK_OPENMP");
	bool is_llvm = r->__kmpc_critical, is_gnu = !is_llvm && r->GOMP_critical_start;

	if (!lock_ops() || (asked && !strcmp(asked, OPENMP_NONE)))
		return;
	if (is_llvm)
		r->serves_simple = r->serves_nested =
			!has_tool(r) && !is_set("KMP_CONSISTENCY_CHECK", "none");
	else if (is_gnu)
		r->serves_simple = asked && !strcmp(asked, OPENMP_ALL);
}

/* All of its functions, and whether they are ours to replace. */
static struct runtime *make_runtime(void *found)
{
	struct runtime *r = ol_run_find_room(sizeof(*r));
	struct link_map *map;
	void *library;
	Dl_info info;

	if (!r)
		fail("out of memory");
	if (!found || !dladdr1(found, &info, (void **)&map, RTLD_DL_LINKMAP)) {
		r->serves_simple = r->serves_nested = lock_ops();
		return r;
	}
	r->base = info.dli_fbase;
	library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD); /* kept open: we call into it */
#define ROUTINE(kind, type, name, params, args, ours)                                              \
	found = library ? dlsym(library, #name) : 0;                                               \
	memcpy(&r->name, &found, sizeof(found));
	ROUTINES(ROUTINE)
#undef ROUTINE
	decide(r);
	return r;
}

/* Where the call would go without us: to what the program was linked with, else to what the caller was. */
static void *next_function(const char *name, const void *site)
{
	void *found = dlsym(RTLD_NEXT, name), *library;
	Dl_info info;

	if (found || !dladdr(site, &info))
		return found;
	library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return 0;
	found = dlsym(library, name);
	dlclose(library);
	return found;
}

static struct runtime *runtime_with(void *function)
{
	const void *base = function ? base_of(function) : 0;
	struct runtime *r = ol_load_acquire(&runtimes);

	while (r && r->base != base)
		r = r->next;
	if (r)
		return r;
	r = make_runtime(function);
	do {
		r->next = ol_load_relaxed(&runtimes);
	} while (!ol_cas_release(&runtimes, r->next, r)); /* release: the functions */
	return r; /* two threads may make the same one: they decide alike */
}

/* The places that call, for good. */

struct site {
	struct site *next;
	const void *at;
	const struct runtime *runtime;
};
enum { SITES = 1 << 10 };
static struct site *sites[SITES];

static inline struct site **sites_like(const void *at)
{
	uint64_t hash = (uintptr_t)at * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */

	return &sites[hash >> 54];
}
_Static_assert(SITES == 1 << (64 - 54), "the hash's upper bits choose");

static OL_COLD const struct runtime *learn(const void *at, const char *name)
{
	struct site **first = sites_like(at), *s = ol_run_find_room(sizeof(*s));

	if (!s)
		fail("out of memory");
	s->at = at;
	s->runtime = runtime_with(next_function(name, at));
	do {
		s->next = ol_load_relaxed(first);
	} while (!ol_cas_release(first, s->next, s)); /* release: what it says */
	return s->runtime;
}

static inline const struct runtime *runtime_for(const void *at, const char *name)
{
	const struct site *s = ol_load_acquire(sites_like(at)); /* with what it says */

	while (s && s->at != at)
		s = s->next;
	return OL_UNLIKELY(!s) ? learn(at, name) : s->runtime;
}

/* What programs call. */

#define ROUTINE(kind, type, name, params, args, ours)                                              \
	type name params;                                                                          \
	type name params                                                                           \
	{                                                                                          \
		const struct runtime *r = runtime_for(CALLER, #name);                              \
                                                                                                   \
		CALLED();                                                                          \
		if (OL_UNLIKELY(!r->serves_##kind)) {                                              \
			LEFT(openmp);                                                              \
			return r->name args;                                                       \
		}                                                                                  \
		return ours;                                                                       \
	}
ROUTINES(ROUTINE)
