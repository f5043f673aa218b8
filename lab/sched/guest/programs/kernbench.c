/* SPDX-License-Identifier: MIT */
/* measured-kernbench JOBS SECONDS: so many jobs compile C files, one after the other, each by a process. */
#include "commands.h"
#include <glob.h>
#include <pthread.h>

#define SOURCES "/usr/src/kernbench"

static glob_t units;
static uint64_t until;

struct job {
	pthread_t thread;
	struct counted *counted;
	unsigned number;
};

static void *work(void *argument)
{
	struct job *me = argument;
	uint64_t began = now_ns(), t;
	char object[32];

	snprintf(object, sizeof(object), "/tmp/job%u.o", me->number);
	for (size_t i = me->number; began < until; began = t, i++) {
		char *words[] = {
			"tcc", "-nostdinc", "-I", SOURCES, "-c", "-o", object, NULL, NULL
		};

		words[7] = units.gl_pathv[i % units.gl_pathc];
		command_run(words, "/dev/null");
		t = now_ns();
		count(me->counted, t - began);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
	struct job *jobs = calloc(n, sizeof(*jobs));
	struct counted *all = calloc(n, sizeof(*all));
	uint64_t begun = now_ns();

	if (!n || !jobs || !all || glob(SOURCES "/*.c", 0, NULL, &units))
		return 2;
	until = begun + (uint64_t)(atof(argv[2]) * 1e9);
	for (unsigned i = 0; i < n; i++) {
		jobs[i] = (struct job){ .counted = &all[i], .number = i };
		if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i]))
			return 1;
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(jobs[i].thread, NULL);
	tell("kernbench", all, n, (double)(now_ns() - begun) / 1e9);
	return 0;
}
