/* SPDX-License-Identifier: MIT */
/* Whose a rwlock is, as what it holds while a reader is in it says: glibc counts readers first. */
#include <pthread.h>
#include <stdio.h>

int main(void)
{
	union {
		pthread_rwlock_t lock;
		unsigned first;
	} u = { PTHREAD_RWLOCK_INITIALIZER };

	pthread_rwlock_rdlock(&u.lock);
	puts(u.first ? "glibc" : "qrw");
	return 0;
}
