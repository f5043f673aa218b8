/* SPDX-License-Identifier: MIT */
/*
 * A signal handler jumps out of a wait: for a mutex, which its thread then does not have; for a mutex with a
 * deadline; and on a condition variable, where glibc lets the jump do what a cancellation does, so that the mutex is
 * held afterwards. Everybody else goes on, and so does the thread: its later waits, also those of handlers, its
 * cancellation and its end.
 *
 *	jumping		prints "fine"
 *	jumping timed	the same, and all waits for a mutex have a deadline
 *	jumping JUMPS	out of so many waits for a mutex, then ends
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 60, HANG_S = 60, LATEST_US = 6000 };

static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, busy = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t began, over;
static __thread sigjmp_buf out;
static __thread volatile bool may_jump;
static volatile bool told, is_ending, all_timed;
static int waiters;

static void need(bool is, const char *what)
{
	if (is)
		return;
	fprintf(stderr, "%s\n", what);
	_exit(1);
}

static void jump(int number)
{
	(void)number;
	if (may_jump) {
		may_jump = false;
		siglongjmp(out, 1);
	}
}

static void await(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

/* A wait that others come into, as there are always two of them. */
static void wait_as_usual(void)
{
	need(!pthread_mutex_lock(&busy), "an error from lock");
	usleep(300);
	need(!pthread_mutex_unlock(&busy), "an error from unlock");
}

static void *keep_busy(void *unused)
{
	while (!is_ending) {
		wait_as_usual();
		usleep(100); /* for the other, whom no lock need prefer */
	}
	return unused;
}

static void wait_for(pthread_mutex_t *mutex, bool timed)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HANG_S;
	if (timed)
		pthread_mutex_timedlock(mutex, &until);
	else
		pthread_mutex_lock(mutex);
	may_jump = false;
	need(false, "acquired what another holds");
}

static void be_jumped(pthread_mutex_t *mutex, bool timed)
{
	if (!sigsetjmp(out, 1)) {
		may_jump = true;
		sem_post(&began);
		wait_for(mutex, timed);
	}
	sem_post(&over);
}

static void *wait_in_vain(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		be_jumped(i % 4 < 2 ? &m : &plain, all_timed || i % 2);
		wait_as_usual();
	}
	return unused;
}

/* At the start of its wait, or when it polls, or when it sleeps. */
static void have_jump(pthread_t thread, long i)
{
	await(&began);
	usleep(i % 3 ? (useconds_t)(i * LATEST_US / ROUNDS) : 0);
	pthread_kill(thread, SIGUSR1);
	await(&over);
}

static void out_of_mutexes(void)
{
	pthread_t thread;

	pthread_mutex_lock(&m);
	pthread_mutex_lock(&plain);
	pthread_create(&thread, 0, wait_in_vain, 0);
	for (int i = 0; i < ROUNDS; i++)
		have_jump(thread, i);
	need(!pthread_mutex_unlock(&m) && !pthread_mutex_unlock(&plain), "an error from unlock");
	pthread_join(thread, 0);
	need(!pthread_mutex_lock(&m) && !pthread_mutex_unlock(&m), "lost");
	need(!pthread_mutex_lock(&plain) && !pthread_mutex_unlock(&plain), "lost");
	need(!pthread_mutex_destroy(&plain), "still locked");
}

static void unlock_m(void *unused)
{
	(void)unused;
	need(!pthread_mutex_unlock(&m), "not held when cancelled");
}

static void *wait_untold(void *unused)
{
	for (volatile int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&m);
		if (!sigsetjmp(out, 1)) {
			may_jump = true;
			sem_post(&began);
			for (;;)
				pthread_cond_wait(&c, &m);
		}
		need(!pthread_mutex_unlock(&m), "not held after the jump");
		sem_post(&over);
		wait_as_usual();
	}
	pthread_mutex_lock(&m);
	pthread_cleanup_push(unlock_m, 0);
	sem_post(&began);
	for (;;)
		pthread_cond_wait(&c, &m);
	pthread_cleanup_pop(0);
	return unused;
}

static void *wait_until_told(void *unused)
{
	pthread_mutex_lock(&m);
	waiters++;
	while (!told)
		pthread_cond_wait(&c, &m);
	waiters--;
	pthread_mutex_unlock(&m);
	return unused;
}

/* Who has begun to wait lets go of the mutex when it waits. */
static void await_waiting(void)
{
	await(&began);
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	usleep(5000);
}

static void out_of_conditions(void)
{
	pthread_t thread, other;
	void *result;

	pthread_create(&other, 0, wait_until_told, 0);
	pthread_create(&thread, 0, wait_untold, 0);
	for (int i = 0; i < ROUNDS; i++) {
		await_waiting();
		pthread_kill(thread, SIGUSR1);
		await(&over);
	}
	await_waiting();
	pthread_cancel(thread);
	pthread_join(thread, &result);
	need(result == PTHREAD_CANCELED, "not cancelled");
	pthread_mutex_lock(&m);
	told = true;
	pthread_cond_broadcast(&c);
	pthread_mutex_unlock(&m);
	pthread_join(other, 0);
	need(!waiters, "not woken");
}

static void *wait_once(void *unused)
{
	be_jumped(&plain, false);
	return unused;
}

static void jumps(long n)
{
	pthread_t thread;

	pthread_mutex_lock(&plain);
	for (long i = 0; i < n; i++) {
		pthread_create(&thread, 0, wait_once, 0);
		have_jump(thread, ROUNDS - 1);
		pthread_join(thread, 0);
	}
	pthread_mutex_unlock(&plain);
}

int main(int argc, char **argv)
{
	struct sigaction jumps_out = { .sa_handler = jump };
	pthread_t busy_one;

	alarm(HANG_S);
	sem_init(&began, 0, 0);
	sem_init(&over, 0, 0);
	sigaction(SIGUSR1, &jumps_out, 0);
	all_timed = argc > 1 && !strcmp(argv[1], "timed");
	if (argc > 1 && !all_timed) {
		jumps(atol(argv[1]));
		return 0;
	}
	pthread_create(&busy_one, 0, keep_busy, 0);
	out_of_mutexes();
	out_of_conditions();
	is_ending = true;
	pthread_join(busy_one, 0);
	puts("fine");
	return 0;
}
