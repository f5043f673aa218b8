/* SPDX-License-Identifier: MIT */
/* Threads that visit sites, and never wait for one another: what is decided is told by the seed alone. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef VISITS
#define VISITS 50
#endif

static void visit(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
}

/* A name as of a part that the compiler made. */
static void visit_too(void) __asm__("visit_too.part.0");

static void visit_too(void)
{
	pthread_spinlock_t l;

	pthread_spin_init(&l, 0);
	pthread_spin_lock(&l);
	pthread_spin_unlock(&l);
}

static void *work(void *arg)
{
	for (int i = 0; i < VISITS; i++) {
		visit();
		visit_too();
	}
	return arg;
}

/* visits [fork|exec PROGRAM|abort] */
int main(int argc, char **argv)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, work, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	if (argc > 1 && argv[1][0] == 'a')
		abort();
	if (argc > 1 && !fork()) {
		if (argv[1][0] == 'e')
			execv(argv[2], argv + 2);
		work(0);
		_exit(0);
	}
	return argc > 1 && wait(0) < 0;
}
