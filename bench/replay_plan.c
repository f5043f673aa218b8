/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "replay_plan.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct replay_head *replay_plan;

const char *replay_load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *error;
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return "it cannot be opened";
	if (!fstat(fd, &st) && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return "it cannot be mapped";
	error = replay_check_file(p, (uint64_t)st.st_size, true);
	if (!error)
		replay_plan = p;
	return error;
}

void replay_convert(double unit_ns)
{
	struct replay_op *ops = replay_plan ? replay_ops(replay_plan) : NULL;

	for (uint64_t i = 0; ops && i < replay_plan->ops; i++)
		ops[i].work = (uint64_t)((double)ops[i].work / unit_ns + 0.5);
}
