/* SPDX-License-Identifier: MIT */
/* Two transfers take the same two locks in opposite orders. */
#include "planted.h"

struct account {
	pthread_mutex_t mutex;
	long balance;
};

static struct account a = { PTHREAD_MUTEX_INITIALIZER, 1000 },
		      b = { PTHREAD_MUTEX_INITIALIZER, 1000 };

static void transfer(struct account *from, struct account *to, long amount)
{
	struct account *first = is_fixed && from > to ? to : from,
		       *second = first == from ? to : from;

	pthread_mutex_lock(&first->mutex);
	pthread_mutex_lock(&second->mutex);
	from->balance -= amount;
	to->balance += amount;
	pthread_mutex_unlock(&second->mutex);
	pthread_mutex_unlock(&first->mutex);
}

static void *pay_back(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		work_us(150);
		transfer(&b, &a, 1);
	}
	return 0;
}

int main(void)
{
	pthread_t other = begin(pay_back, 0);

	for (int i = 0; i < 10; i++) {
		work_us(230);
		transfer(&a, &b, 1);
	}
	end(other);
	return 0;
}
