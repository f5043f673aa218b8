/* SPDX-License-Identifier: MIT */
/*
 * What glibc has and other C libraries lack. A program that is linked with musl, and started by one that runs under
 * us, inherits LD_PRELOAD: its loader must find us complete, or it refuses to start the program. Then all is left to
 * that library, so none of these is called; which of the two it is, dlvsym() tells.
 */
#include <dlfcn.h> /* declared: clang warns of what is not */
#include <execinfo.h>
#include <pthread.h>
#include <string.h>
#include <ucontext.h>

#pragma weak backtrace
#pragma weak dladdr1
#pragma weak dlvsym
#pragma weak getcontext
#pragma weak makecontext
#pragma weak pthread_rwlockattr_setkind_np
#pragma weak strerrordesc_np
#pragma weak swapcontext

static inline _Bool is_glibcs_program(void)
{
	return dlvsym != 0;
}
