/* SPDX-License-Identifier: MIT */
/*
 * Cancellation in condition waits: the clean-up handler runs with the mutex held, waits are
 * cancellation points even when they need not sleep, and no signal is lost with the cancelled.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int waiting, held, cleaned, tokens, taken;

static void clean(void *unused)
{
	cleaned++;
	if (pthread_mutex_unlock(&m) == 0)			/* EPERM if it is not ours */
		__atomic_fetch_add(&held, 1, __ATOMIC_RELAXED); /* the next one's handler runs */
	(void)unused;
}

static struct timespec far_away(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 100;
	return t;
}

static void *wait_for_ever(void *timed)
{
	struct timespec t = far_away();

	pthread_mutex_lock(&m);
	pthread_cleanup_push(clean, 0);
	waiting++;
	for (;;)
		if (timed)
			pthread_cond_timedwait(&c, &m, &t);
		else
			pthread_cond_wait(&c, &m);
	pthread_cleanup_pop(0);
	return 0;
}

static void await_waiting(int n)
{
	for (int seen = 0; seen < n; sched_yield()) {
		pthread_mutex_lock(&m);
		seen = waiting;
		pthread_mutex_unlock(&m);
	}
}

static void cancel_sleeping(const char *what, void *timed)
{
	enum { N = 8 };
	pthread_t threads[N];
	int cancelled = 0;
	void *result;

	waiting = held = cleaned = 0;
	for (int i = 0; i < N; i++)
		pthread_create(&threads[i], 0, wait_for_ever, timed);
	await_waiting(N);
	for (int i = 0; i < N; i++)
		pthread_cancel(threads[i]);
	for (int i = 0; i < N; i++) {
		pthread_join(threads[i], &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("%s: %d cancelled, %d cleaned up, %d with the mutex\n", what, cancelled, cleaned,
	       held);
}

static void *cancel_self(void *unused)
{
	pthread_cancel(pthread_self());
	return wait_for_ever(unused);
}

static void *wait_uncancellable(void *unused)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
	pthread_mutex_lock(&m);
	waiting++;
	while (!tokens)
		pthread_cond_wait(&c, &m);
	tokens--;
	pthread_mutex_unlock(&m);
	return unused;
}

/* A mutex is no cancellation point, and a timed one is none either. */
static void *lock_when_cancelled(void *unused)
{
	struct timespec t = far_away();

	pthread_cancel(pthread_self());
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	pthread_mutex_timedlock(&m, &t);
	pthread_mutex_unlock(&m);
	taken++;
	pthread_testcancel();
	return unused;
}

static void *take_token(void *took)
{
	pthread_mutex_lock(&m);
	pthread_cleanup_push(clean, 0);
	waiting++;
	while (!tokens)
		pthread_cond_wait(&c, &m);
	tokens--;
	*(int *)took = 1;
	pthread_cleanup_pop(1);
	return took;
}

/*
 * Two wait, one is signalled while one is cancelled: a token must not lie there with one asleep. What
 * a thread returned does not say whether it took one: glibc calls a thread cancelled when the
 * cancellation comes between its return and its end.
 */
static int signal_survives(void)
{
	pthread_t a, b;
	int a_took = 0, b_took = 0;

	waiting = tokens = 0;
	pthread_create(&a, 0, take_token, &a_took);
	pthread_create(&b, 0, take_token, &b_took);
	await_waiting(2);
	pthread_mutex_lock(&m);
	tokens++;
	pthread_mutex_unlock(&m);
	pthread_cond_signal(&c);
	pthread_cancel(a);
	pthread_join(a, 0);
	if (a_took) { /* a was faster: b has its own */
		pthread_mutex_lock(&m);
		tokens++;
		pthread_mutex_unlock(&m);
		pthread_cond_signal(&c);
	}
	pthread_join(b, 0);
	return b_took;
}

int main(void)
{
	pthread_t thread;
	void *result;
	int survived = 0;

	alarm(300);
	cancel_sleeping("wait", 0);
	cancel_sleeping("timedwait", &c);
	waiting = held = cleaned = 0;
	pthread_create(&thread, 0, cancel_self, 0);
	pthread_join(thread, &result);
	printf("cancelled before: %d, cleaned up %d, with the mutex %d\n",
	       result == PTHREAD_CANCELED, cleaned, held);
	waiting = 0;
	pthread_create(&thread, 0, wait_uncancellable, 0);
	await_waiting(1);
	pthread_cancel(thread);
	pthread_mutex_lock(&m);
	tokens++;
	pthread_mutex_unlock(&m);
	pthread_cond_signal(&c);
	pthread_join(thread, &result);
	printf("not to be cancelled: %d\n", result == 0);
	pthread_create(&thread, 0, lock_when_cancelled, 0);
	pthread_join(thread, &result);
	printf("locked although cancelled: %d, then gone: %d\n", taken, result == PTHREAD_CANCELED);
	for (int i = 0; i < 300; i++)
		survived += signal_survives();
	printf("signals that survived a cancellation: %d\n", survived);
	return 0;
}
