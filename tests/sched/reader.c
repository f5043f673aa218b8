/* SPDX-License-Identifier: MIT */
/* A program that has a page: on each line of its input it says what its threads know, or does what it names. */
#define _GNU_SOURCE
#include <overlock/ops.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t other;

static void *waits(void *unused)
{
	other = ol_self();
	pause();
	return unused;
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

	printf("id=%llu end_ms=%.0f min_ms=%.0f other=%d self=%u\n", (unsigned long long)id,
	       ms_from_now(ol_slice_end()), ms_from_now(ol_slice_min()), ol_is_preempted(other),
	       ol_self());
}

static void does(const char *what)
{
	if (!strcmp(what, "defer"))
		ol_defer_begin();
	if (!strcmp(what, "done"))
		ol_defer_end();
	if (!strcmp(what, "yield"))
		ol_yield_to(other);
	if (!strcmp(what, "fork")) {
		pid_t child = fork();

		if (!child) {
			says();
			fflush(stdout);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		return;
	}
	says();
}

int main(void)
{
	char line[64];
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ol_self();
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
