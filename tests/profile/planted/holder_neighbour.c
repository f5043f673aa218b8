/* SPDX-License-Identifier: MIT */
/* Another process takes the holder's CPU now and then. */
#include "planted.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static pthread_mutex_t beset_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool over;

static void worker(int number)
{
	pin(number & 1);
	for (int i = 0; number & 1 ? !over : i < 100; i++) {
		uint64_t from;

		locks(&beset_lock);
		from = now_ns();
		work(number & 1 ? 100000 : 3000000, true);
		note(HELD, from, now_ns());
		pthread_mutex_unlock(&beset_lock);
		work(200000, false);
	}
	over = true;
}

static pid_t begin_neighbour(void)
{
	pid_t child;
	int ready[2];
	char c = 0;

	if (pipe(ready))
		abort();
	child = fork();
	if (child) {
		if (read(ready[0], &c, 1) != 1)
			exit(77);
		return child;
	}
	prctl(PR_SET_NAME, "neighbour");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	be_real_time();
	pin(0);
	if (write(ready[1], &c, 1) != 1)
		abort();
	for (;;) {
		rest(2000000);
		work(6000000, false);
	}
}

int main(void)
{
	pid_t neighbour = begin_neighbour();

	be_alone();
	bodies[0] = bodies[1] = worker;
	run_threads(2);
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
	tell("preempted", &beset_lock);
	return 0;
}
