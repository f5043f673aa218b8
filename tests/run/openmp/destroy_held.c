/* SPDX-License-Identifier: MIT */
/* Destroys a lock that its own thread holds. */
#include <omp.h>

int main(void)
{
	omp_lock_t lock;

	omp_init_lock(&lock);
	omp_set_lock(&lock);
	omp_destroy_lock(&lock);
	return 0;
}
