// SPDX-License-Identifier: MIT
/* tbb ITEMS THREADS: sums many small parallel loops of oneTBB, whose workers spin before they sleep. */
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_reduce.h>

#include <functional>

#include "asked.h"

static const int LOOPS = 100;
static long items;
static unsigned long sum;

static unsigned long mixed(unsigned long n)
{
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9ul;
	return n ^ (n >> 27);
}

static unsigned long over(const tbb::blocked_range<long> &range, unsigned long so_far)
{
	for (long i = range.begin(); i < range.end(); i++)
		so_far += mixed((unsigned long)i);
	return so_far;
}

static void unit(void)
{
	sum = 0;
	for (int loop = 0; loop < LOOPS; loop++)
		sum += tbb::parallel_reduce(tbb::blocked_range<long>(0, items), 0ul, over,
					    std::plus<unsigned long>());
}

static const char *wrong(void)
{
	return sum == LOOPS * over(tbb::blocked_range<long>(0, items), 0) ? "" : "another sum";
}

int main(int argc, char **argv)
{
	const int threads = argc == 3 ? atoi(argv[2]) : 0;

	if (threads < 1 || (items = atol(argv[1])) < 1) {
		fputs("usage: tbb ITEMS THREADS\n", stderr);
		return 2;
	}
	// By itself it takes at most as many as there are CPUs.
	tbb::global_control limit(tbb::global_control::max_allowed_parallelism, (size_t)threads);

	asked_serve(unit, wrong);
	return 0;
}
