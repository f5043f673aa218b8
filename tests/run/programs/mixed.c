/* SPDX-License-Identifier: MIT */
/*
 * A process-shared condition variable with an ordinary mutex: signalled from this process, and from
 * another that maps the condition variable only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared {
	pthread_cond_t c;
	atomic_int turn;
};
static struct shared *s;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *answer(void *unused)
{
	for (int i = 1; i < 200; i += 2) {
		pthread_mutex_lock(&m);
		while (atomic_load(&s->turn) != i)
			pthread_cond_wait(&s->c, &m);
		atomic_store(&s->turn, i + 1);
		pthread_cond_broadcast(&s->c);
		pthread_mutex_unlock(&m);
	}
	return unused;
}

static void ask_here(void)
{
	pthread_t thread;

	pthread_create(&thread, 0, answer, 0);
	for (int i = 0; i < 200; i += 2) {
		pthread_mutex_lock(&m);
		atomic_store(&s->turn, i + 1);
		pthread_cond_signal(&s->c);
		while (atomic_load(&s->turn) != i + 2)
			pthread_cond_wait(&s->c, &m);
		pthread_mutex_unlock(&m);
	}
	pthread_join(thread, 0);
}

/* The other process says it again and again: one word of it may come before the wait. */
static void asked_from_elsewhere(void)
{
	pid_t pid = fork();

	if (!pid) {
		usleep(20000);
		atomic_store(&s->turn, -1);
		for (int i = 0; i < 1000; i++) {
			pthread_cond_broadcast(&s->c);
			usleep(1000);
		}
		_exit(0);
	}
	pthread_mutex_lock(&m);
	while (atomic_load(&s->turn) != -1)
		pthread_cond_wait(&s->c, &m);
	pthread_mutex_unlock(&m);
	waitpid(pid, 0, 0);
}

int main(void)
{
	struct timespec past = { 1, 0 };
	pthread_condattr_t attr;

	alarm(300);
	s = mmap(0, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_condattr_init(&attr);
	pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&s->c, &attr);
	ask_here();
	printf("turns: %d\n", atomic_load(&s->turn));
	asked_from_elsewhere();
	pthread_mutex_lock(&m);
	printf("in the past: %s\n", strerrorname_np(pthread_cond_timedwait(&s->c, &m, &past)));
	pthread_mutex_unlock(&m);
	puts("asked");
	return 0;
}
