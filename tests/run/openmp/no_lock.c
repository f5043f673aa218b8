/* SPDX-License-Identifier: MIT */
/* Uses a lock that is none: one that was destroyed, or with an argument one that was never made. */
#include <omp.h>

static omp_lock_t lock;

int main(int argc, char **argv)
{
	(void)argv;
	if (argc < 2) {
		omp_init_lock(&lock);
		omp_destroy_lock(&lock);
	}
	omp_set_lock(&lock);
	return 0;
}
