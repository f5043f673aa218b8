/* SPDX-License-Identifier: MIT */
#include "told.h"
#include "words.h"
#include <stdio.h>
#include <unistd.h>

static void tell_word(const char *name, const char *word)
{
	printf("\"%s\": ", name);
	tell_string(word);
	printf(", ");
}

/* The least that is counted at a place. */
static __u64 ns_at(unsigned place)
{
	if (place < STEPS)
		return place;
	return (__u64)(STEPS + place % STEPS) << (place / STEPS - 1);
}

static __u64 below(const __u64 *times, unsigned percent)
{
	__u64 all = 0, seen = 0;

	for (unsigned i = 0; i < PLACES; i++)
		all += times[i];
	for (unsigned i = 0; i < PLACES; i++) {
		seen += times[i];
		if (all && seen * 100 >= all * percent)
			return ns_at(i);
	}
	return 0;
}

static void tell_times(const char *name, const __u64 *times)
{
	__u64 all = 0;

	for (unsigned i = 0; i < PLACES; i++)
		all += times[i];
	printf("\"%s\": {\"count\": %llu, \"p50\": %llu, \"p99\": %llu}, ", name, all,
	       below(times, 50), below(times, 99));
}

static void add(struct watched *sum, const struct watched *w)
{
	sum->slices += w->slices;
	sum->taken += w->taken;
	sum->left += w->left;
	sum->endless += w->endless;
	sum->broken += w->broken;
	sum->written += w->written;
	sum->refused += w->refused;
	for (unsigned i = 0; i < PLACES; i++) {
		sum->early[i] += w->early[i];
		sum->after[i] += w->after[i];
		sum->length[i] += w->length[i];
	}
}

void tell_begin(const struct watch *watch, unsigned threads)
{
	printf("{\"watching\": %u, \"direct\": %s, ", threads,
	       watch->way == WAY_COPY ? "false" : "true");
	tell_word("why", watch->why);
	tell_word("publisher", watch_way(watch->way));
	printf("\"pid\": %d}\n", getpid());
	fflush(stdout);
}

void tell_end(const struct watch *watch, unsigned threads, double seconds, __u64 copied)
{
	static struct watched sum;
	__u64 error[PLACES];

	for (unsigned i = 0; i < threads; i++)
		add(&sum, &watch->records[i]);
	for (unsigned i = 0; i < PLACES; i++)
		error[i] = sum.early[i] + sum.after[i];
	printf("{\"seconds\": %.3f, ", seconds);
	tell_word("publisher", watch_way(watch->way));
	tell_word("end_by", watch_ending(watch));
	printf("\"slices\": %llu, \"taken\": %llu, \"left\": %llu, ", sum.slices, sum.taken,
	       sum.left);
	printf("\"endless\": %llu, \"broken\": %llu, ", sum.endless, sum.broken);
	printf("\"written\": %llu, \"refused\": %llu, \"copied\": %llu, ", sum.written, sum.refused,
	       copied);
	tell_times("error_ns", error);
	tell_times("early_ns", sum.early);
	tell_times("after_ns", sum.after);
	tell_times("length_ns", sum.length);
	printf("\"threads\": %u}\n", threads);
	fflush(stdout);
}
