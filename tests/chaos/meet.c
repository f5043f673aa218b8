/* SPDX-License-Identifier: MIT */
/* Two threads come to each of 256 sites at the same time, and nobody was there before. */
#include <pthread.h>

enum { THREADS = 2 };

static unsigned arrived;

static void meet(void)
{
	unsigned all = __atomic_add_fetch(&arrived, 1, __ATOMIC_RELAXED);

	all += -all % THREADS;
	while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < all)
		;
}

/* Each expansion is a site. */
#define FOUR(x)	   x x x x
#define SIXTEEN(x) FOUR(FOUR(x))

static void *work(void *arg)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	SIXTEEN(SIXTEEN(meet(); pthread_mutex_trylock(&m);))
	return arg;
}

int main(void)
{
	pthread_t other;

	pthread_create(&other, 0, work, 0);
	work(0);
	return pthread_join(other, 0);
}
