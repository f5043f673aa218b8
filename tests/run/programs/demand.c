// SPDX-License-Identifier: MIT
// A program that is told by a signal to report while it runs.
//
//	demand HOW REPORT MS	sends itself SIGUSR2, and waits for the report for so long at most
//	  plainly		the signal comes as it comes
//	  blocked		every thread of the program blocks it
//	  handled		the program has a handler of its own
//	  forked		a child gets it too, and goes on
//	  ignored		it was ignored when the program started; then as plainly
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t handled;

static void handler(int number)
{
	(void)number;
	handled = 1;
}

static void turns(int n)
{
	while (n--) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	sigset_t set;
	int left, status;

	if (argc < 4)
		return 2;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (!strcmp(how, "blocked"))
		sigprocmask(SIG_BLOCK, &set, 0);
	if (!strcmp(how, "handled"))
		signal(SIGUSR2, handler);
	turns(100);
	if (!strcmp(how, "forked")) {
		if (!fork()) {
			raise(SIGUSR2);
			_exit(7);
		}
		wait(&status);
		printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	}
	kill(getpid(), SIGUSR2);
	for (left = atoi(argv[3]); left > 0 && access(argv[2], F_OK); left--)
		usleep(1000);
	printf("%s%s\n", handled ? "handled, " : "", access(argv[2], F_OK) ? "none" : "reported");
	if (!access(argv[2], F_OK) && argc > 4)
		rename(argv[2], argv[4]); // the first one is kept
	turns(11);
	return 0;
}
