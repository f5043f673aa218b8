// SPDX-License-Identifier: MIT
// A library that the program loads while it runs.
#include <pthread.h>

pthread_mutex_t *by_library(void);
static pthread_mutex_t lock;

pthread_mutex_t *by_library(void)
{
	pthread_mutex_init(&lock, 0);
	return &lock;
}
