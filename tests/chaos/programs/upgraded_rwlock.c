/* SPDX-License-Identifier: MIT */
/* Between the shared lock and the exclusive one another thread may insert the same key. */
#include "planted.h"

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int keys[8], n;

static bool has(int key)
{
	for (int i = 0; i < n; i++)
		if (keys[i] == key)
			return true;
	return false;
}

static void insert(int key)
{
	bool there;

	pthread_rwlock_rdlock(&rwlock);
	there = has(key);
	pthread_rwlock_unlock(&rwlock);
	if (there)
		return;
	pthread_rwlock_wrlock(&rwlock);
	if (!is_fixed || !has(key))
		keys[n++] = key;
	pthread_rwlock_unlock(&rwlock);
}

static void *look_up(void *arg)
{
	work_us(*(long *)arg);
	insert(7);
	return 0;
}

int main(void)
{
	for (int round = 0; round < 10; round++) {
		long delays[] = { 20, 60 };
		pthread_t threads[2];

		n = 0;
		threads[0] = begin(look_up, &delays[0]);
		threads[1] = begin(look_up, &delays[1]);
		end(threads[0]);
		end(threads[1]);
		must(n == 1, "a key is inserted once");
	}
	return 0;
}
