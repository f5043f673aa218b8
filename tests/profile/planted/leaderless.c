/* SPDX-License-Identifier: MIT */
/* The first thread ends before the others, whose names are no text. With an argument: beside a process. */
#include "planted.h"
#include <sys/wait.h>

static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void slow_section(void)
{
	pthread_mutex_lock(&left_lock);
	rest(2000000);
	pthread_mutex_unlock(&left_lock);
}

static void *worker(void *arg)
{
	pthread_setname_np(pthread_self(), "worker-\xd0\xa1\xd1");
	for (int i = 0; i < 300; i++)
		slow_section();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	if (argc > 1 && !fork())
		_exit(0);
	if (argc > 1)
		wait(NULL);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, worker, NULL) || pthread_detach(thread))
			abort();
	pthread_exit(NULL);
}
