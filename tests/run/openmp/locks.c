/* SPDX-License-Identifier: MIT */
/*
 * OpenMP's lock routines, by each of their names, as a family of cases (../conformance/cases.h). LLVM's
 * runtime has all of them, GNU's those that are not marked so.
 */
#define _GNU_SOURCE
#include "../conformance/cases.h"

#include <stdint.h>
#include <stdlib.h>

typedef void no_answer(void *lock);

struct names {
	no_answer *init, *set, *unset, *destroy;
	int (*test)(void *lock); /* null: it has none */
};

/* Larger than any lock, which gets rubbish behind it: nothing may depend on that, or change it. */
struct object {
	const struct names *names;
	_Alignas(16) unsigned char lock[32];
};

/* libgomp's nested lock is the largest; of the others LLVM's omp.h gives 8 bytes, gcc's 4. */
enum { SIMPLE_SIZE = 4, RUBBISH = 0x5a };

#define C_NAMES(name, nest)                                                                       \
	void omp_init##nest##_lock(void *), omp_destroy##nest##_lock(void *),                      \
		omp_set##nest##_lock(void *), omp_unset##nest##_lock(void *);                      \
	int omp_test##nest##_lock(void *);                                                         \
	static const struct names name = { omp_init##nest##_lock, omp_set##nest##_lock,            \
					   omp_unset##nest##_lock, omp_destroy##nest##_lock,       \
					   omp_test##nest##_lock };
C_NAMES(c, )
C_NAMES(c_nested, _nest)

#define FORTRAN_NAMES(name, nest)                                                                 \
	void omp_init##nest##_lock_(void *), omp_destroy##nest##_lock_(void *),                    \
		omp_set##nest##_lock_(void *), omp_unset##nest##_lock_(void *);                    \
	int omp_test##nest##_lock_(void *);                                                        \
	static const struct names name = { omp_init##nest##_lock_, omp_set##nest##_lock_,          \
					   omp_unset##nest##_lock_, omp_destroy##nest##_lock_,     \
					   omp_test##nest##_lock_ };
FORTRAN_NAMES(fortran, )

#ifndef GNU
/* A hint is a number; 2 says contended, 4 speculative. */
#define HINTED(name, nest, hint)                                                                  \
	static void init_##name(void *lock)                                                        \
	{                                                                                          \
		omp_init##nest##_lock_with_hint(lock, hint);                                       \
	}                                                                                          \
	static const struct names name = { init_##name, omp_set##nest##_lock,                      \
					   omp_unset##nest##_lock, omp_destroy##nest##_lock,       \
					   omp_test##nest##_lock };
void omp_init_lock_with_hint(void *, uintptr_t), omp_init_nest_lock_with_hint(void *, uintptr_t);
HINTED(uncontended, , 1)
HINTED(contended, , 2)
HINTED(speculative, , 8)
HINTED(contended_nested, _nest, 2)

FORTRAN_NAMES(fortran_nested, _nest) /* libgomp's has a pointer to a lock */

/* What compilers call; the number of a thread is that of libomp's first function, which knows it. */
int32_t __kmpc_global_thread_num(void *at);

#define BY_COMPILERS(name, function, type)                                                        \
	type function(void *at, int32_t thread, void *lock);                                       \
	static type name(void *lock)                                                               \
	{                                                                                          \
		return function(0, __kmpc_global_thread_num(0), lock);                             \
	}
#define COMPILER_NAMES(name, nest)                                                                \
	BY_COMPILERS(name##_init, __kmpc_init##nest##_lock, void)                                  \
	BY_COMPILERS(name##_set, __kmpc_set##nest##_lock, void)                                    \
	BY_COMPILERS(name##_unset, __kmpc_unset##nest##_lock, void)                                \
	BY_COMPILERS(name##_destroy, __kmpc_destroy##nest##_lock, void)                            \
	BY_COMPILERS(name##_test, __kmpc_test##nest##_lock, int)                                   \
	static const struct names name = { name##_init, name##_set, name##_unset, name##_destroy,  \
					   name##_test };
COMPILER_NAMES(compiler, )
COMPILER_NAMES(compiler_nested, _nest)

void __kmpc_init_lock_with_hint(void *at, int32_t thread, void *lock, uintptr_t hint);

static void init_compiler_contended(void *lock)
{
	__kmpc_init_lock_with_hint(0, __kmpc_global_thread_num(0), lock, 2);
}
static const struct names compiler_contended = { init_compiler_contended, compiler_set,
						 compiler_unset, compiler_destroy, compiler_test };

BY_COMPILERS(enter, __kmpc_critical, void)
BY_COMPILERS(leave, __kmpc_end_critical, void)
void __kmpc_critical_with_hint(void *at, int32_t thread, void *section, uint32_t hint);

static void enter_contended(void *section)
{
	__kmpc_critical_with_hint(0, __kmpc_global_thread_num(0), section, 2);
}

#define SECTION_SIZE 32
#define ENTER	     enter
#define LEAVE	     leave
#else
void GOMP_critical_name_start(void *section), GOMP_critical_name_end(void *section);
#define SECTION_SIZE 8
#define ENTER	     GOMP_critical_name_start
#define LEAVE	     GOMP_critical_name_end
#endif

static void nothing(void *section)
{
	(void)section;
}

static void make_section(void *section)
{
	for (int i = 0; i < SECTION_SIZE; i++)
		((unsigned char *)section)[i] = 0;
}
static const struct names critical = { make_section, ENTER, LEAVE, nothing, 0 };
#ifndef GNU
static const struct names critical_contended = { make_section, enter_contended, leave, nothing, 0 };
#endif

#define KIND(kind)                                                                                \
	static void make_##kind(void *object)                                                      \
	{                                                                                          \
		struct object *o = object;                                                         \
                                                                                                   \
		o->names = &kind;                                                                  \
		kind.init(o->lock);                                                                \
	}
#define EACH_KIND(X) X(c) X(fortran) X(c_nested) X(critical)
#ifndef GNU
#define LLVMS_KIND(X)                                                                             \
	X(uncontended) X(contended) X(speculative) X(contended_nested) X(fortran_nested) X(compiler) X(compiler_nested) X(compiler_contended) X(critical_contended)
#else
#define LLVMS_KIND(X)
#endif
EACH_KIND(KIND)
LLVMS_KIND(KIND)

static const struct kind kinds[] = {
#define ROW(kind) { #kind, make_##kind },
	EACH_KIND(ROW) LLVMS_KIND(ROW){ 0, 0 },
};

CALL(struct object, set, (o->names->set(o->lock), 0))
CALL(struct object, unset, (o->names->unset(o->lock), 0))
CALL(struct object, test, o->names->test(o->lock))
CALL(struct object, set_and_unset, (set(o), unset(o)))
CALL(struct object, test_and_unset, test(o) ? unset(o) + 1 : 0)
CALL(struct object, destroy_and_init, (o->names->destroy(o->lock), o->names->init(o->lock), 0))

static const struct call calls[] = {
	{ "set", set },
	{ "unset", unset },
	{ "test", test },
	{ "set-and-unset", set_and_unset },
	{ "test-and-unset", test_and_unset },
	{ "destroy-and-init", destroy_and_init },
	{ 0, 0 },
};

static void never_used(void *object)
{
	(void)object;
}

static void used(void *object)
{
	set_and_unset(object);
	by_other(set_and_unset, object);
}

static void held(void *object)
{
	set(object);
}

static void held_twice(void *object)
{
	set(object);
	set(object);
}

static void held_by_other(void *object)
{
	by_other(set, object);
}

static void left_by_other(void *object)
{
	by_other(set, object);
	by_other(unset, object);
}

static const struct state states[] = {
	{ "free", never_used },
	{ "free-used", used },
	{ "held-by-self", held },
	{ "held-twice", held_twice },
	{ "held-by-other", held_by_other },
	{ "left-by-other", left_by_other },
	{ 0, 0 },
};

static const char *answer(int result)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", result);
	return text;
}

/* And whether what lies behind a simple lock is untouched. */
static const char *look(void *object)
{
	const struct object *o = object;
	bool is_simple = o->names->destroy == omp_destroy_lock;

	if (is_simple && o->lock[SIMPLE_SIZE] != RUBBISH)
		return "larger than 4 bytes";
	if (!o->names->test)
		return "unknown";
	return by_fresh(test_and_unset, object) ? "free" : "held";
}

const struct family openmp_locks = {
	"openmp", kinds, states, calls, sizeof(struct object), unset, answer, look, false,
};
