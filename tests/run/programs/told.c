/* SPDX-License-Identifier: MIT */
/*
 * Prints what a program is started with, each after a word and ended by a null byte: its name as the
 * kernel has it, arguments, variables, signals that are ignored or blocked, and open files.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

static void tell(const char *what, const char *value)
{
	printf("%s %s", what, value);
	putchar(0);
}

static void tell_number(const char *what, int n)
{
	printf("%s %d", what, n);
	putchar(0);
}

int main(int argc, char **argv)
{
	sigset_t blocked;

	tell("name", (const char *)getauxval(AT_EXECFN));
	for (int i = 0; i < argc; i++)
		tell("argument", argv[i]);
	for (char **variable = environ; *variable; variable++)
		tell("variable", *variable);
	sigprocmask(SIG_BLOCK, 0, &blocked);
	for (int n = 1; n < NSIG; n++) {
		struct sigaction action;

		if (!sigaction(n, 0, &action) && action.sa_handler == SIG_IGN)
			tell_number("ignored", n);
		if (sigismember(&blocked, n) == 1)
			tell_number("blocked", n);
	}
	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			tell_number("file", fd);
	return 7;
}
