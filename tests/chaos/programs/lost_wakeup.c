/* SPDX-License-Identifier: MIT */
/* The flag is checked outside of the mutex: the signal may come between check and wait. */
#include "planted.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready; /* the round that is ready */

static void *produce(void *arg)
{
	(void)arg;
	for (int round = 1; round <= 10; round++) {
		work_us(200);
		pthread_mutex_lock(&mutex);
		__atomic_store_n(&ready, round, __ATOMIC_RELEASE);
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
		while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) /* until it is taken */
			work_us(1);
	}
	return 0;
}

static void wait_for(int round)
{
	if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) == round)
		return;
	pthread_mutex_lock(&mutex);
	while (is_fixed ? ready != round : true) {
		pthread_cond_wait(&changed, &mutex);
		if (ready == round)
			break;
	}
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	pthread_t producer = begin(produce, 0);

	for (int round = 1; round <= 10; round++) {
		wait_for(round);
		__atomic_store_n(&ready, 0, __ATOMIC_RELEASE);
	}
	end(producer);
	return 0;
}
