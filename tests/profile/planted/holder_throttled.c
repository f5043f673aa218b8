/* SPDX-License-Identifier: MIT */
/* The program uses more CPU time than its group may: argv[1] is the folder of a group with a quota. */
#include "planted.h"
#include <fcntl.h>

static pthread_mutex_t quota_lock = PTHREAD_MUTEX_INITIALIZER;

static void worker(int number)
{
	(void)number;
	for (int i = 0; i < 25; i++) {
		uint64_t from;

		locks(&quota_lock);
		from = now_ns();
		work(3000000, true);
		note(HELD, from, now_ns());
		pthread_mutex_unlock(&quota_lock);
		work(100000, false);
	}
}

static void join_group(const char *folder)
{
	char path[4096];
	int file;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	file = open(path, O_WRONLY);
	if (file < 0 || write(file, "0", 1) != 1)
		exit(77);
	close(file);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	join_group(argv[1]);
	bodies[0] = bodies[1] = bodies[2] = worker;
	run_threads(3);
	tell("throttled", &quota_lock);
	return 0;
}
