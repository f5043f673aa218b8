/* SPDX-License-Identifier: MIT */
#ifndef COMMANDS_H
#define COMMANDS_H
/* Programs that a measured program starts again and again. */
#include "counted.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

/* Runs the command with its output in `out`; ends all if that fails. */
static inline void command_run(char *const words[], const char *out)
{
	posix_spawn_file_actions_t files;
	int status;
	pid_t child;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (posix_spawnp(&child, words[0], &files, NULL, words, environ) ||
	    waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "%s failed\n", words[0]);
		exit(1);
	}
	posix_spawn_file_actions_destroy(&files);
}
#endif
