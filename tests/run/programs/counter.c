/* SPDX-License-Identifier: MIT */
/*
 * A time stamp counter that is set back, leaps ahead or stands still while threads wait: what suspended machines,
 * restored snapshots and migrated programs do to one. The counter traps here, and the handler answers; to the
 * kernel's own code in the process (the vDSO) it tells the truth, since the kernel corrects its clock.
 *
 *	counter back|ahead|still
 *	counter traps		the program asks for that itself, and nobody answers
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { WAITERS = 3, WORKERS = 4, VDSO_BYTES = 1 << 16, DEADLINE_MS = 1000 };
#define HOUR ((int64_t)3600 * 3000000000)

static int64_t offset; /* of what is told */
static uint64_t stands_at;

static uint64_t true_counter(void)
{
	unsigned low, high;

	syscall(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	return (uint64_t)high << 32 | low;
}

static void trapped(int signal, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *ip = (const unsigned char *)r[REG_RIP];
	const uintptr_t in_vdso = (uintptr_t)ip - getauxval(AT_SYSINFO_EHDR);
	const int length = !memcmp(ip, "\x0f\x31", 2) ? 2 : !memcmp(ip, "\x0f\x01\xf9", 3) ? 3 : 0;
	uint64_t now;

	if (!length)
		_exit(3);
	now = true_counter();
	if (in_vdso >= VDSO_BYTES) {
		const uint64_t at = __atomic_load_n(&stands_at, __ATOMIC_RELAXED);

		now = (at ? at : now) + (uint64_t)__atomic_load_n(&offset, __ATOMIC_RELAXED);
	}
	r[REG_RAX] = (uint32_t)now;
	r[REG_RDX] = now >> 32;
	if (length == 3)
		r[REG_RCX] = 0;
	r[REG_RIP] += length;
	(void)signal, (void)info;
}

static void disturb(const char *how)
{
	if (!strcmp(how, "still"))
		__atomic_store_n(&stands_at, true_counter(), __ATOMIC_RELAXED);
	else
		__atomic_add_fetch(&offset, !strcmp(how, "back") ? -HOUR : HOUR, __ATOMIC_RELAXED);
}

static double now_ms(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static double timed_out_after;

static void *wait_for_it(void *unused)
{
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	return unused;
}

static void *wait_until(void *unused)
{
	const double began = now_ms();
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
	t.tv_sec += DEADLINE_MS / 1000;
	if (pthread_mutex_timedlock(&m, &t) == ETIMEDOUT)
		timed_out_after = now_ms() - began;
	else
		pthread_mutex_unlock(&m);
	return unused;
}

/* The holder keeps it until the deadline is long over, and the counter changes meanwhile. */
static void hold(const char *how)
{
	pthread_t waiters[WAITERS], timed;

	pthread_mutex_lock(&m);
	for (int i = 0; i < WAITERS; i++)
		pthread_create(&waiters[i], 0, wait_for_it, 0);
	pthread_create(&timed, 0, wait_until, 0);
	usleep(DEADLINE_MS * 1000 / 4);
	if (how)
		disturb(how);
	pthread_join(timed, 0);
	pthread_mutex_unlock(&m);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(waiters[i], 0);
}

static int stop;
static long rounds[WORKERS];

static void *work(void *arg)
{
	long *mine = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&m);
		for (volatile int i = 0; i < 300; i++)
			;
		pthread_mutex_unlock(&m);
		__atomic_add_fetch(mine, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Each gets the lock again after the counter has changed, and ends. */
static void compete(const char *how)
{
	pthread_t workers[WORKERS];
	long then[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], 0, work, &rounds[i]);
	usleep(50000);
	disturb(how);
	usleep(10000);
	for (int i = 0; i < WORKERS; i++)
		then[i] = __atomic_load_n(&rounds[i], __ATOMIC_RELAXED);
	for (int i = 0; i < WORKERS; i++)
		while (__atomic_load_n(&rounds[i], __ATOMIC_RELAXED) < then[i] + 2)
			usleep(1000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], 0);
}

int main(int n, char **words)
{
	struct sigaction action = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_NODEFER };

	if (n != 2)
		return 2;
	alarm(20);
	if (!strcmp(words[1], "traps")) {
		if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
			return 77;
		hold(0);
		return 0;
	}
	sigaction(SIGSEGV, &action, 0);
	/* Not by prctl(), lest anybody takes it for the program's wish. */
	if (syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		return 77;
	hold(words[1]);
	compete(words[1]);
	printf("timed out after %.0f of %d ms\n", timed_out_after, DEADLINE_MS);
	return timed_out_after < DEADLINE_MS * 0.9 || timed_out_after > 2 * DEADLINE_MS;
}
