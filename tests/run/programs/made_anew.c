/* SPDX-License-Identifier: MIT */
/* A child of fork makes anew the mutex that another thread of its parent's held. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t *m;
static volatile int held, stop;

static void *hold(void *unused)
{
	pthread_mutex_lock(m);
	held = 1;
	while (!stop)
		usleep(1000);
	pthread_mutex_unlock(m);
	return unused;
}

static void make_anew(void)
{
	pthread_mutex_init(m, 0);
}

int main(void)
{
	pthread_t holder;
	int status;
	pid_t child;

	m = malloc(sizeof(*m));
	pthread_mutex_init(m, 0);
	pthread_atfork(0, 0, make_anew);
	pthread_create(&holder, 0, hold, 0);
	while (!held)
		usleep(100);
	child = fork();
	if (!child) {
		alarm(5);
		pthread_mutex_lock(m);
		pthread_mutex_unlock(m);
		_exit(0);
	}
	waitpid(child, &status, 0);
	stop = 1;
	pthread_join(holder, 0);
	return status != 0;
}
