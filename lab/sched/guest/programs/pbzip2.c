/* SPDX-License-Identifier: MIT */
/*
 * measured-pbzip2 THREADS SECONDS: pbzip2 with so many threads compresses the same bytes, which do not get smaller,
 * again and again. Counts blocks of 100 kB; the wait is that for a whole run.
 */
#include "commands.h"
#include <sys/stat.h>

#define DATA  "/usr/share/overlock/random"
#define BLOCK 100000

int main(int argc, char **argv)
{
	char jobs[16];
	char *compress[] = { "pbzip2", "-c", "-b1", jobs, DATA, NULL };
	struct counted runs = { 0 };
	uint64_t begun = now_ns(), until, began, t;
	struct stat data;

	if (argc != 3 || stat(DATA, &data))
		return 2;
	snprintf(jobs, sizeof(jobs), "-p%u", (unsigned)atoi(argv[1]));
	until = begun + (uint64_t)(atof(argv[2]) * 1e9);
	for (began = begun; began < until; began = t) {
		command_run(compress, "/dev/null");
		t = now_ns();
		count(&runs, t - began);
	}
	runs.times *= (uint64_t)(data.st_size + BLOCK - 1) / BLOCK;
	printf("{\"program\": \"pbzip2\", \"threads\": %s, \"seconds\": %.6f, \"p99_us\": %.3f, "
	       "\"longest_us\": %.3f, \"per_thread\": [%llu]}\n",
	       argv[1], (double)(began - begun) / 1e9, 0.0, counted_longest_us(&runs, 1),
	       (unsigned long long)runs.times);
	return 0;
}
