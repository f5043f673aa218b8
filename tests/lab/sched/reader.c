/* SPDX-License-Identifier: MIT */
/* A program that has a page: on each line of its input it says what its threads know, or does what it names. */
#define _GNU_SOURCE
#include <overlock/lock/i_spin.h>
#include <overlock/ops.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t other, wants;
static uint64_t joined_ms; /* how long it took to join */
static ol_i_spin_t lock = OL_I_SPIN_INIT;

static void *waits(void *unused)
{
	ol_store_release(&other, ol_self());
	while (!ol_load_acquire(&wants))
		usleep(1000);
	ol_store_release(&wants, 2u);
	ol_i_spin_lock(&lock);
	return unused;
}

/* Main holds the lock, and the other thread has begun to ask for it. */
static void contend(void)
{
	if (!ol_i_spin_trylock(&lock))
		return;
	ol_store_release(&wants, 1u);
	while (ol_load_acquire(&wants) == 1)
		usleep(1000);
}

static double ms_from_now(ol_ticks_t t)
{
	ol_ticks_t now = ol_now();

	if (t == OL_NEVER)
		return -1e9;
	return t > now ? (double)ol_ns_from_ticks(t - now) * 1e-6
		       : -(double)ol_ns_from_ticks(now - t) * 1e-6;
}

static void says(void)
{
	uint64_t id = ol_slice_id();

	printf("id=%llu end_ms=%.0f min_ms=%.0f other=%d self=%u queued=%d joined_ms=%llu\n",
	       (unsigned long long)id, ms_from_now(ol_slice_end()), ms_from_now(ol_slice_min()),
	       ol_is_preempted(other), ol_self(), ol_i_spin_is_contended(&lock),
	       (unsigned long long)joined_ms);
}

static void does(const char *what)
{
	if (!strcmp(what, "defer"))
		ol_defer_begin();
	if (!strcmp(what, "done"))
		ol_defer_end();
	if (!strcmp(what, "contend"))
		contend();
	if (!strcmp(what, "yield"))
		ol_yield_to(other);
	if (!strcmp(what, "fork") || !strcmp(what, "fork in silence")) {
		pid_t child = fork();

		if (!child) {
			alarm(20);
			while (!strcmp(what, "fork") &&
			       ol_slice_id() < 1000) /* the scheduler's ids begin there */
				usleep(1000);
			says();
			fflush(stdout);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		return;
	}
	says();
}

static void join(void)
{
	ol_ticks_t began = ol_now();

	ol_self();
	joined_ms = ol_ns_from_ticks(ol_now() - began) / 1000000;
}

int main(void)
{
	char line[64];
	pthread_t thread;

	ol_store_relaxed(&ol_world->tuning.csd,
			 ol_ticks_from_ns(100000000000)); /* longer than any test */
	setvbuf(stdout, NULL, _IOLBF, 0);
	join();
	pthread_create(&thread, NULL, waits, NULL);
	while (!ol_load_acquire(&other))
		usleep(1000);
	printf("pid=%d\n", getpid());
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		does(line);
	}
	return 0;
}
