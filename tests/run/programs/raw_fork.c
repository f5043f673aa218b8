/* SPDX-License-Identifier: MIT */
/*
 * Forks by a system call, as sandboxes do, while other threads queue for a mutex that the forking thread holds: no
 * handler runs in the child. Prints how many children got the mutex again.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 12, WAITERS = 3 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER,
		       again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static volatile int stop, asked, answered;

static void *contend(void *unused)
{
	while (!stop) {
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
	}
	return unused;
}

static void *answer(void *unused)
{
	pthread_mutex_lock(&m);
	while (!asked)
		pthread_cond_wait(&c, &m);
	answered = 1;
	pthread_cond_broadcast(&c);
	pthread_mutex_unlock(&m);
	return unused;
}

/* The first that it does is to release what its parent has acquired. */
static void live(void)
{
	pthread_t other;

	alarm(5);
	pthread_mutex_lock(&again); /* the parent's thread, which we are, has it already */
	pthread_mutex_unlock(&again);
	pthread_mutex_unlock(&again);
	pthread_mutex_unlock(&m);
	pthread_create(&other, 0, answer, 0);
	pthread_mutex_lock(&m);
	asked = 1;
	pthread_cond_broadcast(&c);
	while (!answered)
		pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
	pthread_join(other, 0);
	syscall(SYS_exit_group, 0);
}

int main(void)
{
	pthread_t waiters[WAITERS];
	int fine = 0, status;

	for (int i = 0; i < WAITERS; i++)
		pthread_create(&waiters[i], 0, contend, 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child;

		pthread_mutex_lock(&m);
		pthread_mutex_lock(&again);
		usleep(2000); /* the others queue up */
		child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!child)
			live();
		pthread_mutex_unlock(&again);
		pthread_mutex_unlock(&m);
		fine += waitpid(child, &status, 0) == child && !status;
	}
	stop = 1;
	for (int i = 0; i < WAITERS; i++)
		pthread_join(waiters[i], 0);
	printf("%d of %d\n", fine, CHILDREN);
	return 0;
}
