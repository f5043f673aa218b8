/* SPDX-License-Identifier: MIT */
/* The semaphore is posted before the item is written. */
#include "planted.h"

#include <semaphore.h>

enum { ITEMS = 10 };

static sem_t filled;
static int ring[ITEMS];

static void *consume(void *arg)
{
	(void)arg;
	for (int i = 0; i < ITEMS; i++) {
		sem_wait(&filled);
		sleep_us(2000); /* it looks up where the item goes */
		must(__atomic_load_n(&ring[i], __ATOMIC_ACQUIRE) == i + 1,
		     "an item that was announced is there");
	}
	return 0;
}

static void put(int i)
{
	__atomic_store_n(&ring[i], i + 1, __ATOMIC_RELEASE);
}

int main(void)
{
	pthread_t consumer;

	sem_init(&filled, 0, 0);
	consumer = begin(consume, 0);
	for (int i = 0; i < ITEMS; i++) {
		sleep_us(100);
		if (is_fixed)
			put(i);
		sem_post(&filled);
		if (!is_fixed)
			put(i);
	}
	end(consumer);
	return 0;
}
