/* SPDX-License-Identifier: MIT */
/*
 * What overlock-hostd, overlock-monitord and readers of their pages are given by others. The first byte chooses what the
 * rest is given to.
 */
#include "lab/hostd/page.c"
#include "lab/slices/thread.c"
#include "must.h"
#include <inttypes.h>
#include <overlock/slice_reader.h>

/* A file that is to become a page. */
static void take_file(const uint8_t *bytes, size_t n)
{
	void *file = copy_of(bytes, n);
	struct ol_slice_map map;
	size_t zeros = 0;

	while (zeros < n && !bytes[zeros])
		zeros++;
	if (page_is_free(file, n))
		must(zeros == n || ol_slice_map_open(&map, file, n),
		     "a file was taken that is neither zeros nor a page");
	else
		must(zeros < n, "a file of zeros was refused");
	free(file);
}

/* A page that a reader looks at, by a clock that is somewhere. */
static void read_page(const uint8_t *bytes, size_t n)
{
	struct ol_slice_clock clock = { 0 };
	uint64_t now = 1ull << 40;
	struct ol_slice_map map;
	void *page = copy_of(bytes, n);

	if (ol_slice_map_open(&map, page, n)) {
		must(!ol_slice_entry(&map, map.entries), "there is an entry after the last");
		for (uint32_t i = 0; i < map.entries; i++) {
			struct ol_slice_entry e;

			now += 1 << 24;
			if (!ol_slice_read(ol_slice_entry(&map, i), &e))
				continue;
			ol_slice_clock_learn(&clock, now, e.published);
			ol_slice_judge(&map, &e, now - (uint64_t)ol_slice_offset(&clock));
			ol_slice_told(&map, now - (uint64_t)ol_slice_offset(&clock));
			must(e.running == OL_SLICE_ON || !e.end, "a thread off its CPU has an end");
		}
	}
	free(page);
}

/* Entries that the agent copies, while the page has anything on it. */
static void copy_entry(const uint8_t *bytes, size_t n)
{
	struct {
		struct ol_slice_page head;
		struct ol_slice_entry entry, behind;
	} there = { 0 }, before;
	struct page page = { .memory = &there.head, .size = sizeof(there), .entries = 1 };
	struct ol_slice_entry from = { 0 };
	uint32_t last = 0;

	if (n < sizeof(there) + sizeof(from))
		return;
	memcpy(&there, bytes, sizeof(there));
	memcpy(&from, bytes + sizeof(there), sizeof(from));
	before = there;
	if (page_copy(&page, 0, &from, &last)) {
		must(last == from.seq && there.entry.seq == from.seq && !(from.seq & 1),
		     "half an entry was copied");
		from.published = there.entry.published;
		must(!memcmp(&there.entry, &from, sizeof(from)), "an entry was copied wrongly");
		there.entry = before.entry;
	}
	must(!memcmp(&there, &before, sizeof(there)), "something beside the entry was written");
}

/* The file of a thread that calls itself anything: what stands behind the name counts. */
static void read_stat(const uint8_t *bytes, size_t n)
{
	struct thread thread = { 0 };
	char *raw = text_of(bytes, n), text[256];

	thread_parse_stat(&thread, raw);
	snprintf(text, sizeof(text),
		 "7 (%.15s) S 1 7 7 0 -1 4194560 99 0 0 0 1 2 3 4 20 0 1 0 123456 8 9 1 1 1 0",
		 raw);
	must(thread_parse_stat(&thread, text) && thread.start == 123456,
	     "a thread's name was taken for its start");
	free(raw);
}

/* The same; Linux writes a line break in the name as \n, and a backslash twice. */
static void read_status(const uint8_t *bytes, size_t n)
{
	struct thread thread = { 0 };
	char *raw = text_of(bytes, n), name[32], text[256];
	size_t used = 0;

	thread_parse_status(&thread, raw);
	for (const char *c = raw; *c && c < raw + 15; c++) {
		if (*c == '\n' || *c == '\\')
			name[used++] = '\\';
		name[used++] = *c == '\n' ? 'n' : *c;
	}
	name[used] = 0;
	snprintf(text, sizeof(text),
		 "Name:\t%s\nUmask:\t0022\nState:\tR (running)\nTgid:\t77\nNgid:\t0\nPid:\t78\n"
		 "PPid:\t1\nTracerPid:\t0\nUid:\t1000\t1001\t1000\t1000\nNSpid:\t78\t9\t5\n",
		 name);
	must(thread_parse_status(&thread, text) && thread.process == 77 && thread.user == 1001 &&
		     thread.inner == 5,
	     "a thread's name was taken for its process");
	free(raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static void (*const takers[])(const uint8_t *, size_t) = { take_file, read_page, copy_entry,
								   read_stat, read_status };

	if (n)
		takers[bytes[0] % (sizeof(takers) / sizeof(*takers))](bytes + 1, n - 1);
	return 0;
}
