// SPDX-License-Identifier: MIT
// musl's sem_t, private.
// brings: src/internal/pthread_impl.h src/internal/futex.h src/thread/__timedwait.c
// brings: src/thread/sem_trywait.c src/thread/sem_timedwait.c src/thread/sem_post.c
// replaces: spins ?= ?100 => spins=0
#include <overlock/foreign/musl.h>
#include "pthread_impl.h"
#include <overlock/foreign/musl_thread.h>
#include "futex.h"
#include "__timedwait.c"
#include "sem_trywait.c"
#include "sem_timedwait.c"
#include "sem_post.c"

static void down(void *o)
{
	sem_timedwait(o, 0);
}

static void up(void *o)
{
	sem_post(o);
}

static void start(void *o)
{
	((sem_t *)o)->__val[2] = 128;
}

const struct ol_checked_lock overlock_checked = {
	.name = "musl semaphore",
	.size = sizeof(sem_t),
	.init = start,
	.down = down,
	.up = up,
};
