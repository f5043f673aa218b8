/* SPDX-License-Identifier: MIT */
/* A client gives an answer 15 ms, which the server needs 50 µs for: unless it loses its CPU. */
#include "planted.h"

#include <errno.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int asked, answered;

static void *serve(void *arg)
{
	(void)arg;
	for (int round = 1; round <= 10; round++) {
		pthread_mutex_lock(&mutex);
		while (asked < round)
			pthread_cond_wait(&changed, &mutex);
		pthread_mutex_unlock(&mutex);
		work_us(50);
		pthread_mutex_lock(&mutex);
		answered = round;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return 0;
}

static void ask(int round)
{
	struct timespec until;

	pthread_mutex_lock(&mutex);
	asked = round;
	pthread_cond_broadcast(&changed);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += is_fixed ? 60 : 0;
	until.tv_nsec += 15000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (answered < round)
		if (pthread_cond_timedwait(&changed, &mutex, &until) == ETIMEDOUT &&
		    answered < round) {
			fprintf(stderr, "error: no answer from the server\n");
			exit(1);
		}
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	pthread_t server = begin(serve, 0);

	for (int round = 1; round <= 10; round++)
		ask(round);
	end(server);
	return 0;
}
