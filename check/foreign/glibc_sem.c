// SPDX-License-Identifier: MIT
// glibc's sem_t.
// brings: sysdeps/nptl/internaltypes.h nptl/sem_post.c nptl/sem_waitcommon.c nptl/sem_wait.c
#include <overlock/foreign/glibc.h>
#define pthread_key_struct	ol_key_struct
#include "internaltypes.h"
#include "sem_post.c"
#include "sem_wait.c"

static void down(void *o)
{
	__new_sem_wait(o);
}

static void up(void *o)
{
	__new_sem_post(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "glibc semaphore",
	.size = sizeof(sem_t),
	.down = down,
	.up = up,
};
