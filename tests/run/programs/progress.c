/* SPDX-License-Identifier: MIT */
/*
 * Does a waiter let the holder run? All threads share one CPU.
 *
 *	progress ROUNDS HOLD_US POLICY WAITERS [timed|rwlock|spin]
 *
 * In each round the holder, of scheduling POLICY (fifo, other, idle), takes the lock, wakes WAITERS
 * threads of SCHED_FIFO 10, computes for HOLD_US of its own CPU time, and releases. Prints the elapsed
 * ns.
 *
 *	progress traced MS
 *
 * A tracer stops the holder, and nobody else, for MS; prints the CPU time in ns that a waiter of
 * SCHED_OTHER took meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static const char *kind = "";
static sem_t go, done;
static long rounds, waiters, in_section;

static void fail(const char *what, int error)
{
	printf("%s: %s\n", what, strerror(error));
	exit(error == EPERM ? 77 : 1);
}

static long ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void lock(void)
{
	struct timespec late;

	if (!strcmp(kind, "rwlock")) {
		pthread_rwlock_wrlock(&rwlock);
	} else if (!strcmp(kind, "spin")) {
		pthread_spin_lock(&spinlock);
	} else if (!strcmp(kind, "timed")) {
		clock_gettime(CLOCK_REALTIME, &late);
		late.tv_sec += 60;
		if (pthread_mutex_timedlock(&mutex, &late))
			fail("timedlock", ETIMEDOUT);
	} else {
		pthread_mutex_lock(&mutex);
	}
	if (in_section++)
		abort();
}

static void unlock(void)
{
	in_section--;
	if (!strcmp(kind, "rwlock"))
		pthread_rwlock_unlock(&rwlock);
	else if (!strcmp(kind, "spin"))
		pthread_spin_unlock(&spinlock);
	else
		pthread_mutex_unlock(&mutex);
}

static void compute(long us)
{
	long end = ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;

	while (ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void set_policy(int policy, int priority)
{
	struct sched_param p = { .sched_priority = priority };
	int error = pthread_setschedparam(pthread_self(), policy, &p);

	if (error)
		fail("pthread_setschedparam", error);
}

static void *wait_for_it(void *arg)
{
	(void)arg;
	set_policy(SCHED_FIFO, 10);
	for (long i = 0; i < rounds; i++) {
		sem_wait(&go);
		lock();
		unlock();
		sem_post(&done);
	}
	return 0;
}

static long play(long hold_us, const char *policy)
{
	pthread_t threads[64];
	long began;

	for (long i = 0; i < waiters; i++)
		pthread_create(&threads[i], 0, wait_for_it, 0);
	set_policy(!strcmp(policy, "fifo")   ? SCHED_FIFO
		   : !strcmp(policy, "idle") ? SCHED_IDLE
					     : SCHED_OTHER,
		   !strcmp(policy, "fifo"));
	began = ns(CLOCK_MONOTONIC);
	for (long i = 0; i < rounds; i++) {
		lock();
		for (long w = 0; w < waiters; w++)
			sem_post(&go); /* which runs it, until it waits for us */
		compute(hold_us);
		unlock();
		for (long w = 0; w < waiters; w++)
			sem_wait(&done);
	}
	began = ns(CLOCK_MONOTONIC) - began;
	for (long i = 0; i < waiters; i++)
		pthread_join(threads[i], 0);
	return began;
}

static long cpu_ns;

static void *wait_measured(void *arg)
{
	long began = ns(CLOCK_THREAD_CPUTIME_ID);

	sem_post(&go);
	pthread_mutex_lock(&mutex);
	cpu_ns = ns(CLOCK_THREAD_CPUTIME_ID) - began;
	pthread_mutex_unlock(&mutex);
	return arg;
}

/* The holder is the main thread; the tracer's word that it has seized us comes by `start`. */
static void be_traced(long ms)
{
	pthread_t waiter;
	int start[2];
	pid_t tracer, holder = getpid();
	char word;

	if (pipe(start))
		fail("pipe", errno);
	tracer = fork();
	if (!tracer) {
		read(start[0], &word, 1);
		if (ptrace(PTRACE_SEIZE, holder, 0, 0) || ptrace(PTRACE_INTERRUPT, holder, 0, 0))
			_exit(errno);
		waitpid(holder, 0, __WALL);
		usleep((useconds_t)ms * 1000);
		ptrace(PTRACE_DETACH, holder, 0, 0);
		_exit(0);
	}
	prctl(PR_SET_PTRACER, tracer);
	pthread_mutex_lock(&mutex);
	pthread_create(&waiter, 0, wait_measured, 0);
	sem_wait(&go);
	write(start[1], "", 1);
	int status;
	while (waitpid(tracer, &status, 0) < 0)
		;
	if (status)
		fail("ptrace", WEXITSTATUS(status));
	pthread_mutex_unlock(&mutex);
	pthread_join(waiter, 0);
	printf("%ld\n", cpu_ns);
}

int main(int argc, char **argv)
{
	cpu_set_t one;

	setvbuf(stdout, 0, _IONBF, 0);
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	if (argc == 3) {
		be_traced(atol(argv[2]));
		return 0;
	}
	rounds = atol(argv[1]);
	waiters = atol(argv[4]);
	kind = argc > 5 ? argv[5] : "";
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	printf("%ld\n", play(atol(argv[2]), argv[3]));
	return 0;
}
