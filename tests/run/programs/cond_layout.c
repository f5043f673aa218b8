// SPDX-License-Identifier: MIT
// A glibc that keeps a condition variable's attributes in another word, as each version may.
//
//	cond_layout	says how two condition variables are served
//	-DWORD=n	makes the library in front of glibc: attributes are in word n, and what is left to
//			it of a process-shared condition variable is said
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef WORD
int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr)
{
	uint32_t *words = (void *)c;
	int shared = 0;
	clockid_t clock = 0;

	memset(c, 0, sizeof(*c));
	if (attr) {
		pthread_condattr_getpshared(attr, &shared);
		pthread_condattr_getclock(attr, &clock);
	}
	words[WORD] = (shared ? 1 : 0) | (clock == CLOCK_MONOTONIC ? 2 : 0);
	return 0;
}

int pthread_cond_signal(pthread_cond_t *c)
{
	(void)c;
	puts("process-shared: left to glibc");
	return 0;
}
#else
int main(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct timespec until, now;
	pthread_condattr_t attr;
	pthread_cond_t c;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c, &attr);
	pthread_cond_signal(&c);
	pthread_mutex_lock(&m);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	while (!pthread_cond_timedwait(&c, &m, &until))
		;
	pthread_mutex_unlock(&m);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("monotonic: %s\n", now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec &&
								now.tv_nsec >= until.tv_nsec)
					  ? "waited"
					  : "early");
	pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&c, &attr);
	pthread_cond_signal(&c);
}
#endif
