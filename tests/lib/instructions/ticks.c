/* SPDX-License-Identifier: MIT */
/*
 * Time of an uncontended lock+unlock from the table of locks, with sections of some lengths:
 * for each lock named, the least of many bursts, in ticks per pair.
 *
 *	ticks LOCK...
 */
#include <overlock/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 1000, BURSTS = 2000, ROOM = 4096 };

static const int lengths[] = { 0, 10, 100 };

static inline void work(int n)
{
	for (int i = 0; i < n; i++)
		__asm__ volatile("" ::: "memory");
}

static ol_ticks_t burst(const struct ol_lock_ops *ops, void *l, int length)
{
	ol_ticks_t began = ol_now();

	for (int i = 0; i < PAIRS; i++) {
		ops->lock(l);
		work(length);
		ops->unlock(l);
		work(length);
	}
	return ol_now() - began;
}

int main(int argc, char **argv)
{
	void *l = aligned_alloc(128, ROOM);

	if (!l)
		return 1;
	for (int i = 1; i < argc; i++) {
		const struct ol_lock_ops *ops = ol_find_lock(argv[i]);

		if (!ops)
			return 2;
		printf("%s", argv[i]);
		for (size_t n = 0; n < sizeof(lengths) / sizeof(*lengths); n++) {
			ol_ticks_t least = OL_NEVER;

			memset(l, 0, ROOM);
			for (int b = 0; b < BURSTS; b++)
				least = ol_earlier(least, burst(ops, l, lengths[n]));
			printf(" %.1f", (double)least / PAIRS);
		}
		printf("\n");
	}
	return 0;
}
