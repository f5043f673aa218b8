/* SPDX-License-Identifier: MIT */
/* Waits with deadlines 300 ms ahead, by the clock that the program has. Prints what the kernel's says of that. */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static double kernels_ms(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static struct timespec soon(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 300000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void *time_out(void *unused)
{
	const struct timespec until = soon();

	pthread_mutex_timedlock(&held, &until);
	return unused;
}

int main(int n, char **words)
{
	const double began = kernels_ms();
	struct timespec until;
	pthread_t other;
	double took;

	alarm(20);
	if (n > 1 && words[1][0] == 'm') {
		pthread_mutex_lock(&held);
		pthread_create(&other, 0, time_out, 0);
		pthread_join(other, 0);
	} else {
		until = soon();
		pthread_mutex_lock(&m);
		pthread_cond_timedwait(&c, &m, &until);
		pthread_mutex_unlock(&m);
	}
	took = kernels_ms() - began;
	puts(took < 295 ? "early" : took > 3000 ? "late" : "in time");
	return 0;
}
