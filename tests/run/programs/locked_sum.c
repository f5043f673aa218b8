/* SPDX-License-Identifier: MIT */
/* Two threads add to a sum behind a mutex. */
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *add(void *unused)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&m);
		sum++;
		pthread_mutex_unlock(&m);
	}
	return unused;
}

int main(void)
{
	pthread_t other;

	pthread_create(&other, 0, add, 0);
	add(0);
	pthread_join(other, 0);
	return sum != 200;
}
