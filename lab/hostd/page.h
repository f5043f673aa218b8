/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_PAGE_H
#define MONITOR_PAGE_H
/* The slice page in a file that a virtual machine, or a program, has mapped too. */
#include <overlock/slice_page.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct page {
	struct ol_slice_page *memory;
	size_t size;
	unsigned entries; /* kept here: a guest can write to the page */
	uid_t owner;
	uint64_t shift; /* the page's clock is ahead of CLOCK_MONOTONIC by this */
	int fd;		/* keeps the lock on the file */
	char why[160];	/* it could not be opened */
};

/*
 * Makes it, for so many entries; false: `why` says why not. Readers are told nothing yet. No part of
 * the path may be a symbolic link. A file that exists must belong to us or to `user`, and be empty,
 * zeros, or a page that was made before. If it is `shifted` the page's clock begins at a random time.
 */
bool page_open(struct page *page, const char *path, unsigned entries, uid_t user, bool shifted);

/* May a file with these bytes become a page: are they zeros, or one that was made before? */
bool page_is_free(const void *bytes, size_t size);

/* Has somebody truncated or overwritten the file? What is written is seen by nobody any more. */
bool page_lost(const struct page *page);

/* The page's time. */
uint64_t page_now(const struct page *page);

void page_begin(struct page *page); /* from now on readers are told */
void page_beat(struct page *page);  /* we live */
void page_over(struct page *page);  /* for good */
void page_close(struct page *page);

struct ol_slice_entry *page_entry(struct page *page, unsigned i);

/* Writes what `from` holds if that is a whole entry and another one than `last` was; true if it did. */
bool page_copy(struct page *page, unsigned i, const struct ol_slice_entry *from, uint32_t *last);
#endif
