/* SPDX-License-Identifier: MIT */
/* Double-checked initialisation publishes the object before it is complete. */
#include "planted.h"

/* When the second thread comes. */
#ifndef LATE_US
#define LATE_US 60
#endif

struct config {
	long workers;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, log_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct config *config;
static long lines;

static void note(void)
{
	pthread_mutex_lock(&log_mutex);
	lines++;
	pthread_mutex_unlock(&log_mutex);
}

static struct config *get(void)
{
	struct config *c = __atomic_load_n(&config, __ATOMIC_ACQUIRE);

	if (c)
		return c;
	pthread_mutex_lock(&mutex);
	if (!config) {
		c = calloc(1, sizeof(*c));
		if (!is_fixed)
			__atomic_store_n(&config, c, __ATOMIC_RELEASE);
		note();
		c->workers = 4;
		__atomic_store_n(&config, c, __ATOMIC_RELEASE);
	}
	c = config;
	pthread_mutex_unlock(&mutex);
	return c;
}

static void *use(void *arg)
{
	work_us(*(long *)arg);
	must(get()->workers == 4, "a configuration is complete");
	return 0;
}

int main(void)
{
	for (int round = 0; round < 10; round++) {
		long delays[] = { 20, LATE_US };
		pthread_t users[] = { begin(use, &delays[0]), begin(use, &delays[1]) };

		end(users[0]);
		end(users[1]);
		free(config);
		config = 0;
	}
	return 0;
}
