/* SPDX-License-Identifier: MIT */
#ifndef OL_IMAGE_H
#define OL_IMAGE_H
/*
 * The code of one object, loaded in this process or read from a file, and where its functions begin: as
 * .eh_frame_hdr says. Addresses are the object's own, from 0. Nothing of a file is trusted.
 */
#ifndef _GNU_SOURCE
#error "struct dl_phdr_info needs _GNU_SOURCE"
#endif
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ol_image {
	const unsigned char *base; /* of address 0 */
	const ElfW(Phdr) * segments;
	unsigned n_segments;
	uint64_t table;	      /* the address of the search table's first entry */
	uint64_t header;      /* what its entries are relative to */
	uint32_t n_functions; /* 0: it does not say */
	void *mapped;	      /* of a file */
	size_t size;
	ElfW(Phdr) * own_segments;
};

struct ol_function {
	uint64_t begin, end;
};

/* Of a loaded object. */
void ol_image_loaded(struct ol_image *image, const struct dl_phdr_info *object);

/* Of an x86-64 file; null, or why it cannot be read. `ol_image_close` is for these. */
const char *ol_image_open(struct ol_image *image, int fd);
void ol_image_close(struct ol_image *image);

/* `size` bytes of code at `at`, or null. */
const unsigned char *ol_image_code(const struct ol_image *image, uint64_t at, size_t size);

/* The end of the executable segment that has `at`, or 0. */
uint64_t ol_image_code_end(const struct ol_image *image, uint64_t at);

/* The n-th function by address, below n_functions; false if the table has nonsense there. */
bool ol_image_function(const struct ol_image *image, uint32_t n, struct ol_function *function);

/* Which function has `at`; n_functions: none. */
uint32_t ol_image_function_at(const struct ol_image *image, uint64_t at);

/* The code that has `at` and is behind the end of the n-th function, before the next one: in assembly, most likely. */
bool ol_image_between(const struct ol_image *image, uint64_t at, uint32_t *n,
		      struct ol_function *code);

/* The name that others load it by, or null. Of a file only: a loader may have changed what it has in memory. */
const char *ol_image_soname(const struct ol_image *image);

/* Whether loops of an object of that name, without folders, are none to be retargeted. */
bool ol_image_is_left_alone(const char *name);

/* The build id in hexadecimal digits, or "". */
#define OL_BUILD_ID 129
void ol_image_build_id(const struct ol_image *image, char id[OL_BUILD_ID]);

/*
 * What the object's loops are kept by: the build id; for an object without one, as rustc's 150 MB, a digest of
 * all bytes that are mapped from the file and stay as they are there. "": they do not stay, or the table is elsewhere.
 */
#define OL_IMAGE_KEY OL_BUILD_ID
void ol_image_key(const struct ol_image *image, char key[OL_IMAGE_KEY]);
#endif
