/* SPDX-License-Identifier: MIT */
/*
 * openmp KERNEL SIZE THREADS
 *
 * Kernels of OpenMP programs that share something behind a lock or a critical section, as they are commonly
 * written. Each works on SIZE items with THREADS threads, or OMP_NUM_THREADS if that is set, does the same
 * work again with one thread and without locks, and compares. It prints the seconds of the parallel part, and
 * `right` or `wrong`.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A draw of its own for each item: whichever thread gets it, the work is the same. */
static uint64_t drawn(uint64_t i)
{
	i += UINT64_C(0x9e3779b97f4a7c15); /* SplitMix64 */
	i = (i ^ i >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	i = (i ^ i >> 27) * UINT64_C(0x94d049bb133111eb);
	return i ^ i >> 31;
}

static void *zeroed(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		fputs("openmp: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

/* Some arithmetic on an item, the part that is parallel; a value of 0 to 63. */
static unsigned classified(uint64_t i)
{
	uint64_t x = drawn(i);

	for (int round = 0; round < 8; round++)
		x = drawn(x);
	return (unsigned)(x >> 58);
}

/* Items are counted by class, in one critical section. */
static double histogram(long size, int *right)
{
	long counts[64] = { 0 }, expected[64] = { 0 };
	double began = omp_get_wtime();

#pragma omp parallel for
	for (long i = 0; i < size; i++) {
		unsigned class = classified((uint64_t)i);

#pragma omp critical(histogram)
		counts[class]++;
	}
	began = omp_get_wtime() - began;
	for (long i = 0; i < size; i++)
		expected[classified((uint64_t)i)]++;
	*right = !memcmp(counts, expected, sizeof(counts));
	return began;
}

/* A list of work behind a lock, to which work adds: a tree is walked whose nodes have 0 to 4 children. */
static unsigned children(uint64_t node, int depth)
{
	return depth ? (unsigned)(drawn(node) % 5) : 0;
}

static double worklist(long size, int *right)
{
	struct item {
		uint64_t node;
		int depth;
	} *items = zeroed((size_t)size * 2, sizeof(*items));
	long n = 0, working = 0, visited = 0, expected = 0, roots = size / 8;
	uint64_t sum = 0, expected_sum = 0;
	omp_lock_t lock;
	double began;

	/* Roots, and what is expected of them: each node is visited exactly once. */
	for (long i = 0; i < roots; i++)
		items[n++] = (struct item){ (uint64_t)i, 1 };
	for (long i = 0; i < roots; i++) {
		unsigned c = children((uint64_t)i, 1);

		expected += 1 + c;
		expected_sum += drawn((uint64_t)i);
		for (unsigned k = 0; k < c; k++)
			expected_sum += drawn((uint64_t)i * 8 + k + (uint64_t)size);
	}
	omp_init_lock(&lock);
	began = omp_get_wtime();
#pragma omp parallel reduction(+ : sum, visited)
	for (;;) {
		struct item item;
		int got = 0, over;

		omp_set_lock(&lock);
		if (n) {
			item = items[--n];
			working++;
			got = 1;
		}
		over = !got && !working;
		omp_unset_lock(&lock);
		if (over)
			break;
		if (!got)
			continue;
		classified(item.node);
		visited++;
		sum += drawn(item.node);
		for (unsigned k = 0, c = children(item.node, item.depth); k < c; k++) {
			omp_set_lock(&lock);
			items[n++] = (struct item){ item.node * 8 + k + (uint64_t)size, 0 };
			omp_unset_lock(&lock);
		}
		omp_set_lock(&lock);
		working--;
		omp_unset_lock(&lock);
	}
	began = omp_get_wtime() - began;
	omp_destroy_lock(&lock);
	*right = visited == expected && sum == expected_sum;
	free(items);
	return began;
}

/* Particles push their neighbours in a periodic box: a lock for each cell that forces are added to. */
static double particles(long size, int *right)
{
	enum { CELLS = 16, STEPS = 4 };
	int64_t forces[CELLS] = { 0 }, expected[CELLS] = { 0 }, energy = 0, expected_energy = 0;
	omp_lock_t locks[CELLS];
	double began;

	for (int c = 0; c < CELLS; c++)
		omp_init_lock(&locks[c]);
	began = omp_get_wtime();
	for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for
		for (long i = 0; i < size / STEPS; i++) {
			uint64_t x = drawn((uint64_t)(i * STEPS + step));
			int at = (int)(x % CELLS), beside = (at + 1) % CELLS;
			int64_t force = (int64_t)(x >> 40) - (1 << 23);

			omp_set_lock(&locks[at]);
			forces[at] += force;
			omp_unset_lock(&locks[at]);
			omp_set_lock(&locks[beside]);
			forces[beside] -= force;
			omp_unset_lock(&locks[beside]);
#pragma omp critical(energy)
			energy += force >> 4;
		}
	}
	began = omp_get_wtime() - began;
	for (int step = 0; step < STEPS; step++)
		for (long i = 0; i < size / STEPS; i++) {
			uint64_t x = drawn((uint64_t)(i * STEPS + step));
			int64_t force = (int64_t)(x >> 40) - (1 << 23);

			expected[x % CELLS] += force;
			expected[(x % CELLS + 1) % CELLS] -= force;
			expected_energy += force >> 4;
		}
	for (int c = 0; c < CELLS; c++)
		omp_destroy_lock(&locks[c]);
	*right = !memcmp(forces, expected, sizeof(forces)) && energy == expected_energy;
	return began;
}

/* Connected components: edges join sets, behind nested locks, since joining finds in both sets. */
static long root_of(long *parent, long v)
{
	while (parent[v] != v)
		v = parent[v] = parent[parent[v]];
	return v;
}

static void join(omp_nest_lock_t *lock, long *parent, long a, long b)
{
	omp_set_nest_lock(lock);
	a = root_of(parent, a);
	omp_set_nest_lock(lock); /* as functions that lock call others that do */
	b = root_of(parent, b);
	omp_unset_nest_lock(lock);
	if (a != b)
		parent[a < b ? b : a] = a < b ? a : b;
	omp_unset_nest_lock(lock);
}

static double components(long size, int *right)
{
	long vertices = size / 2, *parent = zeroed((size_t)vertices, sizeof(*parent)),
	     *alone = zeroed((size_t)vertices, sizeof(*alone)), differ = 0;
	omp_nest_lock_t lock;
	double began;

	for (long v = 0; v < vertices; v++)
		parent[v] = alone[v] = v;
	omp_init_nest_lock(&lock);
	began = omp_get_wtime();
#pragma omp parallel for schedule(dynamic, 64)
	for (long i = 0; i < size; i++) {
		uint64_t x = drawn((uint64_t)i);

		join(&lock, parent, (long)(x % (uint64_t)vertices),
		     (long)((x >> 32) % (uint64_t)vertices));
	}
	began = omp_get_wtime() - began;
	for (long i = 0; i < size; i++) {
		uint64_t x = drawn((uint64_t)i);
		long a = root_of(alone, (long)(x % (uint64_t)vertices)),
		     b = root_of(alone, (long)((x >> 32) % (uint64_t)vertices));

		if (a != b)
			alone[a < b ? b : a] = a < b ? a : b;
	}
	for (long v = 0; v < vertices; v++)
		differ += root_of(parent, v) != root_of(alone, v);
	omp_destroy_nest_lock(&lock);
	*right = !differ;
	free(parent);
	free(alone);
	return began;
}

/* A generator that all threads draw from, as rand() behind a critical section without a name. */
static double montecarlo(long size, int *right)
{
	uint64_t state = 1, drawings = 0;
	long inside = 0, expected = 0;
	double began = omp_get_wtime();

#pragma omp parallel for reduction(+ : inside)
	for (long i = 0; i < size; i++) {
		uint64_t mine, x, y;

#pragma omp critical
		{
			mine = state++;
			drawings++;
		}
		x = drawn(mine) >> 40;
		y = drawn(~mine) >> 40;
		inside += x * x + y * y < UINT64_C(1) << 48;
	}
	began = omp_get_wtime() - began;
	for (uint64_t i = 1; i <= (uint64_t)size; i++) {
		uint64_t x = drawn(i) >> 40, y = drawn(~i) >> 40;

		expected += x * x + y * y < UINT64_C(1) << 48;
	}
	*right = inside == expected && drawings == (uint64_t)size;
	return began;
}

/* Results in the order of the loop, as programs write them to a file. */
static double ordered(long size, int *right)
{
	unsigned char *out = zeroed((size_t)size, 1);
	long n = 0, differ = 0;
	double began = omp_get_wtime();

#pragma omp parallel for ordered schedule(dynamic)
	for (long i = 0; i < size; i++) {
		unsigned class = classified((uint64_t)i);

#pragma omp ordered
		out[n++] = (unsigned char)class;
	}
	began = omp_get_wtime() - began;
	for (long i = 0; i < size; i++)
		differ += out[i] != classified((uint64_t)i);
	*right = !differ && n == size;
	free(out);
	return began;
}

static const struct {
	const char *name;
	double (*run)(long size, int *right);
} kernels[] = {
	{ "histogram", histogram },   { "worklist", worklist },	    { "particles", particles },
	{ "components", components }, { "montecarlo", montecarlo }, { "ordered", ordered },
};

int main(int argc, char **argv)
{
	long size = argc == 4 ? atol(argv[2]) : 0;
	int threads = argc == 4 ? atoi(argv[3]) : 0;

	if (threads > 0 && !getenv("OMP_NUM_THREADS"))
		omp_set_num_threads(threads);
	for (size_t i = 0; size >= 16 && threads > 0 && i < sizeof(kernels) / sizeof(*kernels);
	     i++) {
		int right = 0;

		if (strcmp(kernels[i].name, argv[1]) != 0)
			continue;
		printf("%.9f\n", kernels[i].run(size, &right));
		puts(right ? "right" : "wrong");
		return 0;
	}
	fputs("usage: openmp KERNEL SIZE THREADS, a size of at least 16\n", stderr);
	return 2;
}
