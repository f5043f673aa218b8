/* SPDX-License-Identifier: MIT */
/* overlock-sched-plain: has the plain scheduler in force until a signal ends it. */
#include "plain.skel.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	struct plain_bpf *programs = plain_bpf__open_and_load();
	sigset_t ends;
	int which;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	if (!programs || !bpf_map__attach_struct_ops(programs->maps.plain)) {
		fprintf(stderr, "overlock-sched-plain: the kernel does not take the scheduler\n");
		return 1;
	}
	sigwait(&ends, &which);
	return 0;
}
