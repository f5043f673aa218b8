// SPDX-License-Identifier: MIT
// A library that waits in a function called NAME; all that are made of this have the same layout.
#include <atomic>
#include <pthread.h>

extern "C" void wait_in_library(pthread_mutex_t *mutex, std::atomic<bool> *comes);

static volatile int sections;

__attribute__((noinline, noclone)) static void NAME(pthread_mutex_t *mutex,
						    std::atomic<bool> *comes)
{
	*comes = true;
	pthread_mutex_lock(mutex);
	sections = sections + 1;
	pthread_mutex_unlock(mutex);
}

void wait_in_library(pthread_mutex_t *mutex, std::atomic<bool> *comes)
{
	NAME(mutex, comes);
	sections = sections + 1;
}
