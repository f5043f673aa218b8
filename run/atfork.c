/* SPDX-License-Identifier: MIT */
/*
 * pthread_atfork(), for libraries that watch a program's calls. glibc links its own into each library that asks
 * for it, and there asks for a function that only glibc has: musl's loader would refuse the library (weak.h).
 */
#include "real.h"

#include <pthread.h>

__attribute__((visibility("hidden"))) int pthread_atfork(void (*prepare)(void),
							 void (*parent)(void), void (*child)(void))
{
	int (*add)(void (*)(void), void (*)(void), void (*)(void), void *);

	/* The last argument, null, says that the library stays; musl's function does not look at it. */
	find_real(&add, is_glibcs_program() ? "__register_atfork" : "pthread_atfork", COND);
	return add(prepare, parent, child, 0);
}
