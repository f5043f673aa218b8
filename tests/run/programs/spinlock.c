/* SPDX-License-Identifier: MIT */
/*
 * Spinlocks: threads of one process, processes that share one, and children of forks that took it
 * first. Usage: spinlock USES CHILDREN
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, PROCESSES = 3 };

struct counter {
	pthread_spinlock_t lock;
	long count;
};
static struct counter mine, *shared;
static pthread_spinlock_t forked;
static atomic_int stop;
static int uses;

static void add(struct counter *c)
{
	pthread_spin_lock(&c->lock);
	c->count++;
	pthread_spin_unlock(&c->lock);
}

static void *add_all(void *c)
{
	for (int i = 0; i < uses; i++)
		add(c);
	return 0;
}

static void *contend(void *unused)
{
	while (!atomic_load(&stop)) {
		pthread_spin_lock(&forked);
		pthread_spin_unlock(&forked);
	}
	return unused;
}

static void take(void)
{
	pthread_spin_lock(&forked);
}

static void release(void)
{
	pthread_spin_unlock(&forked);
}

static void run(void *(*function)(void *), pthread_t *threads)
{
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, function, &mine);
}

static void join(pthread_t *threads)
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
}

int main(int argc, char **argv)
{
	int children = argc > 2 ? atoi(argv[2]) : 10, back = 0, status;
	pthread_t threads[THREADS];

	uses = argc > 1 ? atoi(argv[1]) : 1000;
	alarm(300);
	shared =
		mmap(0, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_spin_init(&mine.lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&forked, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&shared->lock, PTHREAD_PROCESS_SHARED);
	run(add_all, threads);
	join(threads);
	printf("threads: %d\n", mine.count == (long)THREADS * uses);
	fflush(stdout);
	for (int i = 0; i < PROCESSES; i++)
		if (!fork()) {
			add_all(shared);
			_exit(0);
		}
	for (int i = 0; i < PROCESSES; i++)
		wait(&status);
	printf("processes: %d\n", shared->count == (long)PROCESSES * uses);
	pthread_atfork(take, release, release);
	run(contend, threads);
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(300);
			take();
			release();
			_exit(0);
		}
		waitpid(pid, &status, 0);
		back += status == 0;
	}
	atomic_store(&stop, 1);
	join(threads);
	printf("children that returned: %d of %d\n", back, children);
	return 0;
}
