/* SPDX-License-Identifier: MIT */
/* A consumer does not look again when it is woken: the producer takes an item back that nobody took in 2 ms. */
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

	while (goes_on) {
		pthread_mutex_lock(&mutex);
		wait_until_filled();
		must(items > 0 || over, "who takes an item finds one");
		goes_on = items > 0;
		items -= goes_on;
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static void put(int n, bool last)
{
	pthread_mutex_lock(&mutex);
	items += n;
	over = last;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&mutex);
}

static void take_back(void)
{
	pthread_mutex_lock(&mutex);
	items -= items > 0;
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	pthread_t consumer = begin(consume, 0);

	for (int i = 0; i < ITEMS; i++) {
		put(1, false);
		sleep_us(2000);
		take_back();
	}
	put(0, true);
	end(consumer);
	return 0;
}
