/* SPDX-License-Identifier: MIT */
/* The creator completes what the new thread needs only after it has created it. */
#include "planted.h"

struct worker {
	pthread_t thread;
	long *counter;
};

static void *run(void *arg)
{
	struct worker *w = arg;

	sleep_us(2000); /* it sets itself up */
	++*__atomic_load_n(&w->counter, __ATOMIC_ACQUIRE);
	return 0;
}

int main(void)
{
	static long counters[10];

	for (int i = 0; i < 10; i++) {
		struct worker w = { 0 };

		if (is_fixed)
			__atomic_store_n(&w.counter, &counters[i], __ATOMIC_RELEASE);
		w.thread = begin(run, &w);
		__atomic_store_n(&w.counter, &counters[i], __ATOMIC_RELEASE);
		end(w.thread);
		must(counters[i] == 1, "each worker counts");
	}
	return 0;
}
