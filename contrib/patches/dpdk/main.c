/* SPDX-License-Identifier: MIT */
/*
 * Runs tests of DPDK's app/test, without its command line and without hardware:
 *
 *	locks EAL_OPTION... -- MS TEST...
 *
 * The load in a test takes MS, and each lcore then prints how many acquisitions it made.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>

#include "test.h"

static uint64_t ms;
static TAILQ_HEAD(, test_command) known = TAILQ_HEAD_INITIALIZER(known);

void add_test_command(struct test_command *t)
{
	TAILQ_INSERT_TAIL(&known, t, next);
}

/* In place of the loads' MAX_LOOP, which they ask before each acquisition: no limit until the time is over. */
uint64_t max_loop(void);
uint64_t max_loop(void)
{
	static __thread uint64_t acquired, began;
	uint64_t now = rte_rdtsc();

	if (!acquired)
		began = now;
	if (now - began <= ms * rte_get_timer_hz() / 1000) {
		acquired++;
		return UINT64_MAX;
	}
	printf("acquired %" PRIu64 " in %" PRIu64 " us\n", acquired,
	       (now - began) * 1000000 / rte_get_timer_hz());
	acquired = 0;
	return 0;
}

static int run(const char *name)
{
	struct test_command *t;

	for (t = TAILQ_FIRST(&known); t; t = TAILQ_NEXT(t, next))
		if (!strcmp(t->command, name))
			return t->callback();
	fprintf(stderr, "no test %s\n", name);
	return -1;
}

int main(int argc, char **argv)
{
	int used = rte_eal_init(argc, argv), failed = 0;

	if (used < 0 || used + 2 >= argc)
		return 2;
	ms = (uint64_t)atoi(argv[used + 1]);
	for (int i = used + 2; i < argc; i++) {
		printf("%s\n", argv[i]);
		if (run(argv[i])) {
			printf("%s failed\n", argv[i]);
			failed = 1;
		}
	}
	return failed;
}
