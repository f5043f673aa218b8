/* SPDX-License-Identifier: MIT */
#include "told.h"
#include "ending.h"
#include "words.h"
#include <stdio.h>
#include <unistd.h>

static void tell_word(const char *name, const char *word)
{
	printf("\"%s\": ", name);
	tell_string(word);
	printf(", ");
}

static void tell_times(const char *name, const __u64 *times)
{
	times_tell(name, times);
	printf(", ");
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
	static struct slice_counts sum;
	__u64 error[PLACES];

	for (unsigned i = 0; i < threads; i++)
		slice_counts_add(&sum, &watch->records[i].counts);
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
