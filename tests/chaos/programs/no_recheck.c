/* SPDX-License-Identifier: MIT */
/* A consumer does not look again when it is woken: another one may have taken the item. */
#include "planted.h"

enum { ITEMS = 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;
static bool over;

static void wait_until_filled(void)
{
	if (!is_fixed && !items && !over)
		pthread_cond_wait(&filled, &mutex);
	while (is_fixed && !items && !over)
		pthread_cond_wait(&filled, &mutex);
}

static void *consume(void *arg)
{
	bool goes_on = true;

	(void)arg;
	while (goes_on) {
		pthread_mutex_lock(&mutex);
		wait_until_filled();
		must(items > 0 || over, "who takes an item finds one");
		goes_on = items > 0;
		items -= goes_on;
		pthread_mutex_unlock(&mutex);
		work_us(40);
	}
	return 0;
}

int main(void)
{
	pthread_t consumers[2] = { begin(consume, 0), begin(consume, 0) };

	for (int i = 0; i < ITEMS; i++) {
		sleep_us(1000);
		pthread_mutex_lock(&mutex);
		items++;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&mutex);
	}
	pthread_mutex_lock(&mutex);
	over = true;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&mutex);
	end(consumers[0]);
	end(consumers[1]);
	return 0;
}
