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
};

/* Makes it, for so many entries; false: `errno` says why. Readers are told nothing yet. */
bool page_open(struct page *page, const char *path, unsigned entries);

/* The host's time. */
uint64_t page_now(void);

void page_begin(struct page *page); /* from now on readers are told */
void page_beat(struct page *page);  /* we live */
void page_over(struct page *page);  /* for good */
void page_close(struct page *page);

struct ol_slice_entry *page_entry(struct page *page, unsigned i);

/* Writes what `from` holds if that is a whole entry and another one than `last` was; true if it did. */
bool page_copy(struct page *page, unsigned i, const struct ol_slice_entry *from, uint32_t *last);
#endif
