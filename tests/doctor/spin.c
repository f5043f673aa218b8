/* SPDX-License-Identifier: MIT */
/* Argument: how many threads spin until the program is killed. The first one sleeps. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *spin(void *unused)
{
	for (;;)
		__asm__ volatile("" ::: "memory");
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (int n = argc > 1 ? atoi(argv[1]) : 0; n > 0; n--)
		if (pthread_create(&thread, 0, spin, 0))
			return EXIT_FAILURE;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
