// SPDX-License-Identifier: MIT
// A thread that holds one mutex locks another for the first time, while a library that is being
// loaded waits for the one held. Whoever takes the loader's lock then waits for ever.
//
//	loading LIBRARY		-DLIBRARY makes the library
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#ifdef LIBRARY
extern pthread_mutex_t held;
extern atomic_int in_constructor;

__attribute__((constructor)) static void constructor(void)
{
	atomic_store(&in_constructor, 1);
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
}
#else
pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, first_use = PTHREAD_MUTEX_INITIALIZER;
atomic_int in_constructor;

static void *load(void *path)
{
	return dlopen(path, RTLD_NOW);
}

int main(int argc, char **argv)
{
	pthread_t loader;
	void *loaded;

	(void)argc;
	pthread_mutex_lock(&held);
	pthread_create(&loader, 0, load, argv[1]);
	while (!atomic_load(&in_constructor))
		usleep(100);
	pthread_mutex_lock(&first_use);
	pthread_mutex_unlock(&first_use);
	pthread_mutex_unlock(&held);
	pthread_join(loader, &loaded);
	puts(loaded ? "loaded" : dlerror());
}
#endif
