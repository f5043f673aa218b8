/* SPDX-License-Identifier: MIT */
/* The balance is checked in one critical section and changed in the next. */
#include "planted.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long balance;

static long read_balance(void)
{
	long now;

	pthread_mutex_lock(&mutex);
	now = balance;
	pthread_mutex_unlock(&mutex);
	return now;
}

static void withdraw(long amount)
{
	pthread_mutex_lock(&mutex);
	if (!is_fixed || balance >= amount)
		balance -= amount;
	must(balance >= 0, "the balance is not negative");
	pthread_mutex_unlock(&mutex);
}

static void *spend(void *arg)
{
	work_us(*(long *)arg);
	if (read_balance() >= 100)
		withdraw(100);
	return 0;
}

int main(void)
{
	for (int round = 0; round < 10; round++) {
		long delays[] = { 20, 60 };
		pthread_t spenders[2];

		balance = 100;
		spenders[0] = begin(spend, &delays[0]);
		spenders[1] = begin(spend, &delays[1]);
		end(spenders[0]);
		end(spenders[1]);
	}
	return 0;
}
