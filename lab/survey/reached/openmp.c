// SPDX-License-Identifier: MIT
/* Critical sections, and short loops with a barrier at their ends: gcc for libgomp, clang for libomp. */
#include <stdlib.h>

int main(void)
{
	long count = 0, sum = 0;

#pragma omp parallel num_threads(4)
	for (int i = 0; i < 50000; i++) {
#pragma omp critical
		count++;
	}
	for (int i = 0; i < 1000; i++) {
#pragma omp parallel for num_threads(4) reduction(+ : sum)
		for (int j = 0; j < 1000; j++)
			sum += j;
	}
	return count == 200000 && sum == 499500000 ? 0 : 1;
}
