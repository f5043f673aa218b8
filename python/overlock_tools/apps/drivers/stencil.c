// SPDX-License-Identifier: MIT
/*
 * stencil SIDE SWEEPS THREADS: spreads heat over a grid, a parallel loop of OpenMP for each sweep.
 * A team waits at the end of each, so most of a small grid's time is waiting.
 */
#include <stdbool.h>
#include <string.h>

#include "asked.h"

static int side, sweeps, threads;
static double *grid, *next, *expected;

static size_t cells(void)
{
	return (size_t)side * (size_t)side;
}

static double *made(void)
{
	double *room = calloc(cells(), sizeof(*room));

	if (!room) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return room;
}

/* Each cell is computed by itself, so the result has the same bits with any number of threads. */
static void sweep(double *restrict to, const double *restrict from, int team)
{
#pragma omp parallel for num_threads(team)
	for (int row = 1; row < side - 1; row++)
		for (int at = row * side + 1; at < (row + 1) * side - 1; at++)
			to[at] = 0.25 *
				 (from[at - 1] + from[at + 1] + from[at - side] + from[at + side]);
}

static void spread(int team)
{
	for (int i = 0; i < side; i++)
		grid[i] = next[i] = 1.0;
	memset(grid + side, 0, (cells() - (size_t)side) * sizeof(*grid));
	memset(next + side, 0, (cells() - (size_t)side) * sizeof(*next));
	for (int i = 0; i < sweeps; i++) {
		double *done = next;

		sweep(next, grid, team);
		next = grid;
		grid = done;
	}
}

static void unit(void)
{
	spread(threads);
}

static const char *wrong(void)
{
	const bool right = !memcmp(grid, expected, cells() * sizeof(*grid));

	memset(grid, 0, cells() * sizeof(*grid)); /* what is right was computed since */
	return right ? "" : "it computes something else than with one thread";
}

int main(int argc, char **argv)
{
	if (argc != 4 || (side = atoi(argv[1])) < 3 || (sweeps = atoi(argv[2])) < 1 ||
	    (threads = atoi(argv[3])) < 1) {
		fputs("usage: stencil SIDE SWEEPS THREADS\n", stderr);
		return 2;
	}
	grid = made(), next = made(), expected = made();
	spread(1);
	memcpy(expected, grid, cells() * sizeof(*grid));
	asked_serve(unit, wrong);
	return 0;
}
