/* SPDX-License-Identifier: MIT */
/* The holder writes to a disk. */
#include "planted.h"
#include <fcntl.h>

static pthread_mutex_t io_lock = PTHREAD_MUTEX_INITIALIZER;
static int file;

static void worker(int number)
{
	char page[4096];

	memset(page, number, sizeof(page));
	for (int i = 0; i < 60; i++) {
		uint64_t from, before, after;

		locks(&io_lock);
		from = now_ns();
		work(50000, true);
		before = now_ns();
		for (int k = 0; k < 4; k++)
			if (pwrite(file, page, sizeof(page), (off_t)k * 4096) < 0 || fsync(file))
				abort();
		after = now_ns();
		note(KEPT, before, after);
		note(HELD, from, after);
		pthread_mutex_unlock(&io_lock);
		work(50000, false);
	}
}

int main(int argc, char **argv)
{
	file = open(argc > 1 ? argv[1] : "planted.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		abort();
	be_alone();
	bodies[0] = bodies[1] = bodies[2] = worker;
	run_threads(3);
	tell("io", &io_lock);
	return 0;
}
