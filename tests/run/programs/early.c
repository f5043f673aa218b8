/* SPDX-License-Identifier: MIT */
/*
 * A library whose constructor uses mutexes before the interposer's own may have run, holds one into
 * main(), registers for fork, and uses mutexes again in its destructor. With -DMAIN: its program,
 * which also loads it a second time in a namespace of symbols of its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MAIN
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, kept = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void release(void)
{
	pthread_mutex_unlock(&kept);
}

static void take(void)
{
	pthread_mutex_lock(&kept);
}

__attribute__((constructor)) static void begin(void)
{
	pthread_mutex_lock(&kept);
	pthread_mutex_lock(&recursive);
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	pthread_atfork(take, release, release);
}

int use_early(void)
{
	int busy = pthread_mutex_trylock(&kept) != 0;

	pthread_mutex_unlock(&kept);
	return busy && !pthread_mutex_trylock(&recursive) && !pthread_mutex_unlock(&recursive) &&
	       !pthread_mutex_unlock(&recursive);
}

__attribute__((destructor)) static void end(void)
{
	pthread_mutex_lock(&kept);
	pthread_mutex_unlock(&kept);
	pthread_mutex_destroy(&kept);
}
#else
int use_early(void);

int main(int argc, char **argv)
{
	int status = -1;
	void *again;
	int (*use)(void);

	printf("early: %d\n", use_early());
	fflush(stdout);
	if (!fork())
		_exit(0);
	wait(&status);
	printf("forked: %d\n", status);
	again = dlopen(argc > 1 ? argv[1] : "none", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	use = again ? (int (*)(void))dlsym(again, "use_early") : 0;
	printf("loaded: %d\n", use ? use() : -1);
	return 0;
}
#endif
