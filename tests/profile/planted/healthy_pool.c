/* SPDX-License-Identifier: MIT */
/* Workers that wait for work, most of the time: at a condition, which is no trouble. */
#include "planted.h"

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int queued;
static bool over;

static void worker(int number)
{
	(void)number;
	for (;;) {
		pthread_mutex_lock(&pool_lock);
		while (!queued && !over)
			pthread_cond_wait(&not_empty, &pool_lock);
		if (!queued) {
			pthread_mutex_unlock(&pool_lock);
			return;
		}
		queued--;
		pthread_mutex_unlock(&pool_lock);
		work(1000000, false);
	}
}

static void producer(int number)
{
	(void)number;
	for (int i = 0; i < 400; i++) {
		pthread_mutex_lock(&pool_lock);
		queued++;
		pthread_cond_signal(&not_empty);
		pthread_mutex_unlock(&pool_lock);
		rest(2000000);
	}
	pthread_mutex_lock(&pool_lock);
	over = true;
	pthread_cond_broadcast(&not_empty);
	pthread_mutex_unlock(&pool_lock);
}

int main(void)
{
	bodies[0] = producer;
	for (int i = 1; i < 9; i++)
		bodies[i] = worker;
	be_alone();
	run_threads(9);
	tell("nothing", NULL);
	return 0;
}
