/* SPDX-License-Identifier: MIT */
/*
 * The idiom of libraries that must survive fork: take the lock before, give it back on both sides.
 * In the child the queue of the parent's threads is a queue of ghosts. Prints how many of the
 * children came back, each after using the mutex, and a condition variable, again.
 * Usage: fork USES [destroy]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN = 60, HOLDING = 5, THREADS = 3 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, fresh = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static volatile int stop;
static long in_section[2];	    /* of m, of fresh */
static int uses, destroys, by_hand; /* the handlers are to do nothing */

static void prepare(void)
{
	if (!by_hand)
		pthread_mutex_lock(&m);
}

static void release(void)
{
	if (!by_hand)
		pthread_mutex_unlock(&m);
}

static void use(pthread_mutex_t *mutex)
{
	long *inside = &in_section[mutex == &fresh];

	pthread_mutex_lock(mutex);
	if ((*inside)++)
		abort();
	(*inside)--;
	pthread_mutex_unlock(mutex);
}

static void *contend(void *timed)
{
	while (!stop) {
		struct timespec t;

		if (timed) {
			clock_gettime(CLOCK_REALTIME, &t);
			t.tv_nsec = (t.tv_nsec + 1000000) % 1000000000;
			if (!pthread_mutex_timedlock(&m, &t))
				pthread_mutex_unlock(&m);
		} else {
			use(&m);
		}
	}
	return 0;
}

static void *contend_a_while(void *unused)
{
	for (int i = 0; i < uses; i++) {
		use(&m);
		use(&fresh);
	}
	return unused;
}

static void *wait_for_ever(void *unused)
{
	pthread_mutex_lock(&fresh);
	for (;;)
		pthread_cond_wait(&c, &fresh);
	return unused;
}

/* The child has threads too, and a condition variable on which only ghosts wait. */
static void child(void)
{
	pthread_t threads[2];
	struct timespec past = { 1, 0 };

	alarm(300);
	use(&m);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], 0, contend_a_while, 0);
	contend_a_while(0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], 0);
	pthread_mutex_lock(&m);
	if (pthread_cond_timedwait(&c, &m, &past) != ETIMEDOUT)
		abort();
	pthread_mutex_unlock(&m);
	if (destroys)
		pthread_cond_destroy(&c); /* glibc waits for the ghosts to leave */
	if (pthread_mutex_destroy(&m))
		abort();
	_exit(0);
}

static volatile int at_the_door;

static void *queue_up(void *unused)
{
	at_the_door = 1;
	use(&m);
	return unused;
}

/*
 * Without handlers: what the forking thread holds it may release on both sides, in the child also
 * when others of the child wait for it by then, behind ghosts.
 */
static int fork_holding(void)
{
	pthread_t thread;
	int status;
	pid_t pid;

	by_hand = 1;
	pthread_mutex_lock(&m);
	pid = fork();
	if (!pid) {
		alarm(300);
		pthread_create(&thread, 0, queue_up, 0);
		while (!at_the_door)
			sched_yield();
		usleep(5000); /* so that it is likely to wait */
		pthread_mutex_unlock(&m);
		pthread_join(thread, 0);
		contend_a_while(0);
		_exit(0);
	}
	pthread_mutex_unlock(&m);
	by_hand = 0;
	waitpid(pid, &status, 0);
	return status == 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], waiter;
	char *args[] = { "true", 0 };
	int back = 0, holding = 0, status;
	pid_t pid;

	uses = argc > 1 ? atoi(argv[1]) : 20;
	destroys = argc > 2;
	pthread_atfork(prepare, release, release);
	pthread_create(&waiter, 0, wait_for_ever, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, contend, i ? 0 : (void *)&m);
	for (int i = 0; i < CHILDREN; i++) {
		pid = fork();
		if (!pid)
			child();
		waitpid(pid, &status, 0);
		back += status == 0;
	}
	printf("children that returned: %d of %d\n", back, CHILDREN);
	for (int i = 0; i < HOLDING; i++)
		holding += fork_holding();
	printf("holding: %d of %d\n", holding, HOLDING);
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	if (posix_spawnp(&pid, "true", 0, 0, args, environ))
		return 1;
	waitpid(pid, &status, 0);
	printf("spawned: %d\n", status);
	pid = vfork();
	if (!pid)
		_exit(3);
	waitpid(pid, &status, 0);
	use(&m);
	printf("after vfork: %d\n", WEXITSTATUS(status));
	return 0;
}
