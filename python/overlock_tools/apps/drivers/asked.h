// SPDX-License-Identifier: MIT
/*
 * A driver works as long as it is asked to: each line of its input is a number of seconds, to which
 * it answers in one line of JSON, as drivers/asked.py. It always completes a unit of work.
 */
#ifndef ASKED_H
#define ASKED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t asked_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Three digits of each time are kept, as in a result, so that there are few different ones. */
static uint64_t asked_rounded(uint64_t ns)
{
	uint64_t scale = 1;

	while (ns / scale >= 1000)
		scale *= 10;
	return ns / scale * scale;
}

static int asked_order(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void asked_answer(uint64_t *times, size_t count, double seconds, const char *wrong)
{
	const char *comma = "";

	qsort(times, count, sizeof(*times), asked_order);
	printf("{\"work\": %zu, \"seconds\": %.9f, \"wrong\": \"%s\", \"ns\": [", count, seconds,
	       wrong);
	for (size_t i = 0, next; i < count; i = next, comma = ", ") {
		for (next = i + 1; next < count && times[next] == times[i];)
			next++;
		printf("%s[%llu, %zu]", comma, (unsigned long long)times[i], next - i);
	}
	puts("]}");
	fflush(stdout);
}

/* `wrong` looks at what the last unit has computed: why it is not right, or "". */
static void asked_serve(void (*unit)(void), const char *(*wrong)(void))
{
	size_t room = 1024;
	uint64_t *times = (uint64_t *)malloc(room * sizeof(*times));
	double seconds;

	while (times && scanf("%lf", &seconds) == 1) {
		const uint64_t began = asked_now_ns();
		uint64_t before, now = began;
		size_t count = 0;

		do {
			before = now;
			unit();
			now = asked_now_ns();
			if (count == room) {
				room *= 2;
				times = (uint64_t *)realloc(times, room * sizeof(*times));
				if (!times)
					break;
			}
			times[count++] = asked_rounded(now - before);
		} while ((double)(now - began) < seconds * 1e9);
		if (times)
			asked_answer(times, count, (double)(now - began) / 1e9, wrong());
	}
	if (!times) {
		fputs("no memory\n", stderr);
		exit(1);
	}
}

#endif
