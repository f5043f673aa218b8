/* SPDX-License-Identifier: MIT */
/* The holder writes to a disk. */
#include "planted.h"
#include <fcntl.h>

static pthread_mutex_t io_lock = PTHREAD_MUTEX_INITIALIZER;
static int file;

enum { BYTES = 2 << 20 };

static void worker(int number)
{
	static __thread char data[BYTES] __attribute__((aligned(4096)));

	memset(data, number, sizeof(data));
	for (int i = 0; i < 60; i++) {
		uint64_t from, before, after, cpu;

		locks(&io_lock);
		from = now_ns();
		work(50000, true);
		before = now_ns();
		cpu = own_cpu_ns();
		if (pwrite(file, data, sizeof(data), 0) != sizeof(data) || fsync(file))
			abort();
		after = now_ns();
		note(KEPT, before + own_cpu_ns() - cpu, after);
		note(HELD, from, after);
		pthread_mutex_unlock(&io_lock);
		work(50000, false);
	}
}

int main(int argc, char **argv)
{
	file = open(argc > 1 ? argv[1] : "planted.data", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT,
		    0600);
	if (file < 0)
		return 77; /* as on a file system in memory */
	be_alone();
	bodies[0] = bodies[1] = bodies[2] = worker;
	run_threads(3);
	tell("io", &io_lock);
	return 0;
}
