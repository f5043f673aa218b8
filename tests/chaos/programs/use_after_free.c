/* SPDX-License-Identifier: MIT */
/* A worker looks at its request after it has told the owner, who frees it. */
#include "planted.h"

enum { ALIVE = 0x600d, FREED = 0xdead };

struct request {
	pthread_mutex_t mutex;
	pthread_cond_t finished;
	bool done;
	volatile int state; /* what a sanitizer would know */
};

static struct request requests[10]; /* never reused, so that the program can tell */
static int served;

static void *work(void *arg)
{
	struct request *r = arg;

	work_us(100);
	pthread_mutex_lock(&r->mutex);
	r->done = true;
	if (is_fixed)
		served += r->state == ALIVE;
	pthread_cond_signal(&r->finished);
	pthread_mutex_unlock(&r->mutex);
	if (!is_fixed) {
		must(r->state == ALIVE, "a request is not used after it was freed");
		served++;
	}
	return 0;
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		struct request *r = &requests[i];
		pthread_t worker;

		pthread_mutex_init(&r->mutex, 0);
		pthread_cond_init(&r->finished, 0);
		r->state = ALIVE;
		worker = begin(work, r);
		pthread_mutex_lock(&r->mutex);
		while (!r->done)
			pthread_cond_wait(&r->finished, &r->mutex);
		pthread_mutex_unlock(&r->mutex);
		sleep_us(2000); /* with the answer */
		r->state = FREED;
		end(worker);
	}
	return served != 10;
}
