// SPDX-License-Identifier: MIT
// oneTBB: short parallel loops, and its queuing_mutex.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/queuing_mutex.h>

int main()
{
	tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 4);
	tbb::queuing_mutex lock;
	long count = 0;
	for (int round = 0; round < 100; round++)
		tbb::parallel_for(0, 1000, [&](int) {
			tbb::queuing_mutex::scoped_lock held(lock);
			count++;
		});
	return count == 100000 ? 0 : 1;
}
