/* SPDX-License-Identifier: MIT */
/* More busy threads than CPUs, and no lock: they are preempted, and nobody waits for them. */
#include "planted.h"

static void worker(int number)
{
	(void)number;
	for (int i = 0; i < 100; i++)
		work(1000000, false);
}

int main(void)
{
	for (int i = 0; i < 8; i++)
		bodies[i] = worker;
	run_threads(8);
	tell("nothing", NULL);
	return 0;
}
