/* SPDX-License-Identifier: MIT */
/* overlock-sched-chaos: has the scheduler of `overlock chaos --by sched` in force until a signal ends it. */
#include "chaos.skel.h"
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

int main(void)
{
	struct chaos_bpf *programs;
	sigset_t ends;
	int which;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	programs = chaos_bpf__open_and_load();
	if (!programs || !bpf_program__attach(programs->progs.yields) ||
	    !bpf_map__attach_struct_ops(programs->maps.chaos)) {
		fprintf(stderr, "overlock-sched-chaos: the kernel does not take the scheduler\n");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	sigwait(&ends, &which);
	printf("{\"held\": %lu}\n", programs->bss->held);
	return 0;
}
