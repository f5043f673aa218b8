/* SPDX-License-Identifier: MIT */
/*
 * A program of one OpenMP runtime and a library of another, as a Python process has them. The same source is
 * both: -DLIBRARY makes the library, whose functions the program calls.
 *
 * Usage: many_runtimes LIBRARY TIMES
 */
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends with 0 if the sections excluded each other and the nested lock counts as it should. */
static int use(int times)
{
	long in_section = 0, in_lock = 0, in_nested = 0, wrong = 0;
	omp_nest_lock_t nested;
	struct {
		omp_lock_t lock;
		long behind;
	} mine = { .behind = 42 };

	omp_init_lock(&mine.lock);
	omp_init_nest_lock(&nested);
#pragma omp parallel for num_threads(4)
	for (int i = 0; i < times; i++) {
#pragma omp critical(both)
		in_section++;
		omp_set_lock(&mine.lock);
		in_lock++;
		omp_unset_lock(&mine.lock);
		omp_set_nest_lock(&nested);
		if (omp_test_nest_lock(&nested) != 2)
			wrong++;
		in_nested++;
		omp_unset_nest_lock(&nested);
		omp_unset_nest_lock(&nested);
	}
	omp_destroy_nest_lock(&nested);
	omp_destroy_lock(&mine.lock);
	return in_section != times || in_lock != times || in_nested != times || wrong ||
	       mine.behind != 42;
}

#ifdef LIBRARY
int use_library(int times);
int use_library(int times)
{
	return use(times);
}
#else
int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 1000;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : 0;
	int (*theirs)(int) = library ? (int (*)(int))dlsym(library, "use_library") : 0;

	if (!theirs)
		return fprintf(stderr, "%s\n", dlerror()), 2;
	printf("program: %d\n", use(times));
	printf("library: %d\n", theirs(times));
	printf("program: %d\n", use(times));
	return 0;
}
#endif
