/* SPDX-License-Identifier: MIT */
/* A reader takes the pointer under the lock, and reads a part of the data after it. */
#include "planted.h"

struct pair {
	volatile long a, b;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pair buffers[2];
static struct pair *current = &buffers[0];

static void *write_pairs(void *arg)
{
	(void)arg;
	for (long n = 1; n <= 20; n++) {
		struct pair *next;

		work_us(150);
		pthread_mutex_lock(&mutex);
		next = current == &buffers[0] ? &buffers[1] : &buffers[0];
		next->a = n;
		work_us(2);
		next->b = n;
		current = next;
		pthread_mutex_unlock(&mutex);
	}
	return 0;
}

static void read_pair(void)
{
	struct pair *p;
	long a, b = 0;

	pthread_mutex_lock(&mutex);
	p = current;
	a = p->a;
	if (is_fixed)
		b = p->b;
	pthread_mutex_unlock(&mutex);
	if (!is_fixed)
		b = p->b;
	must(a == b, "a reader sees a whole pair");
}

int main(void)
{
	pthread_t writer = begin(write_pairs, 0);

	for (int i = 0; i < 30; i++) {
		work_us(100);
		read_pair();
	}
	end(writer);
	return 0;
}
