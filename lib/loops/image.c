/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* As the Linux Standard Base describes .eh_frame_hdr, with what every linker writes into it. */
enum {
	VERSION = 1,
	SIGNED_4 = 0x0b,
	UNSIGNED_4 = 0x03,
	RELATIVE_TO_HEADER = 0x30,
	RELATIVE_TO_HERE = 0x10,
	ENTRY = 8, /* bytes: a function and its description, both relative to the header */
};

/* `size` bytes at `at`, of any segment that has all of the flags, or null. */
static const unsigned char *bytes(const struct ol_image *image, uint64_t at, size_t size,
				  unsigned flags)
{
	for (unsigned i = 0; i < image->n_segments; i++) {
		const ElfW(Phdr) *s = &image->segments[i];

		if (s->p_type == PT_LOAD && (s->p_flags & flags) == flags && at >= s->p_vaddr &&
		    at - s->p_vaddr <= s->p_filesz && size <= s->p_filesz - (at - s->p_vaddr))
			return image->base + at;
	}
	return 0;
}

const unsigned char *ol_image_code(const struct ol_image *image, uint64_t at, size_t size)
{
	return bytes(image, at, size, PF_R | PF_X);
}

uint64_t ol_image_code_end(const struct ol_image *image, uint64_t at)
{
	for (unsigned i = 0; i < image->n_segments; i++) {
		const ElfW(Phdr) *s = &image->segments[i];

		if (s->p_type == PT_LOAD && (s->p_flags & PF_X) && at >= s->p_vaddr &&
		    at - s->p_vaddr < s->p_filesz)
			return s->p_vaddr + s->p_filesz;
	}
	return 0;
}

static bool word(const struct ol_image *image, uint64_t at, uint32_t *value)
{
	const unsigned char *found = bytes(image, at, sizeof(*value), PF_R);

	if (found)
		memcpy(value, found, sizeof(*value));
	return found;
}

static void find_functions(struct ol_image *image, uint64_t header)
{
	const unsigned char *head = bytes(image, header, 12, PF_R);

	/* The pointer to .eh_frame is 4 bytes in each of its usual encodings. */
	if (!head || head[0] != VERSION || (head[1] & 0x0f) != SIGNED_4 || head[2] != UNSIGNED_4 ||
	    head[3] != (SIGNED_4 | RELATIVE_TO_HEADER))
		return;
	memcpy(&image->n_functions, head + 8, sizeof(image->n_functions));
	image->header = header;
	image->table = header + 12;
	if (!bytes(image, image->table, (size_t)image->n_functions * ENTRY, PF_R))
		image->n_functions = 0;
}

static void find_all(struct ol_image *image)
{
	for (unsigned i = 0; i < image->n_segments; i++)
		if (image->segments[i].p_type == PT_GNU_EH_FRAME)
			find_functions(image, image->segments[i].p_vaddr);
}

void ol_image_loaded(struct ol_image *image, const struct dl_phdr_info *object)
{
	*image = (struct ol_image){
		.base = (const unsigned char *)object->dlpi_addr,
		.segments = object->dlpi_phdr,
		.n_segments = object->dlpi_phnum,
	};
	find_all(image);
}

/* The segments of a file, each where it would be loaded; what a file says of itself may be anything. */
static const char *map(struct ol_image *image, int fd, uint64_t file_size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), high = 0;

	for (unsigned i = 0; i < image->n_segments; i++) {
		const ElfW(Phdr) *s = &image->segments[i];

		if (s->p_type != PT_LOAD)
			continue;
		if (s->p_offset > file_size || s->p_filesz > file_size - s->p_offset ||
		    s->p_vaddr > UINT64_MAX / 4 || (s->p_vaddr - s->p_offset) % page)
			return "its segments are not in it";
		if (s->p_vaddr + s->p_filesz > high)
			high = s->p_vaddr + s->p_filesz;
	}
	image->size = (high + page - 1) / page * page;
	if (!high || image->size > (1ull << 40))
		return "it has no segments that can be loaded";
	image->mapped =
		mmap(0, image->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (image->mapped == MAP_FAILED) {
		image->mapped = 0;
		return "it does not fit in memory";
	}
	for (unsigned i = 0; i < image->n_segments; i++) {
		const ElfW(Phdr) *s = &image->segments[i];
		uint64_t before = s->p_vaddr % page;

		if (s->p_type == PT_LOAD && s->p_filesz &&
		    mmap((char *)image->mapped + s->p_vaddr - before, s->p_filesz + before,
			 PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t)(s->p_offset - before)) == MAP_FAILED)
			return "it cannot be mapped";
	}
	image->base = image->mapped;
	return 0;
}

const char *ol_image_open(struct ol_image *image, int fd)
{
	ElfW(Ehdr) head;
	struct stat about;
	const char *why;
	size_t size;

	*image = (struct ol_image){ 0 };
	if (fstat(fd, &about) || !S_ISREG(about.st_mode))
		return "it is no regular file";
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_machine != EM_X86_64 || head.e_phentsize != sizeof(ElfW(Phdr)))
		return "it is no program or library for x86-64";
	size = sizeof(ElfW(Phdr)) * head.e_phnum;
	image->own_segments = malloc(size + 1);
	if (!image->own_segments ||
	    pread(fd, image->own_segments, size, (off_t)head.e_phoff) != (ssize_t)size) {
		ol_image_close(image);
		return "its list of segments cannot be read";
	}
	image->segments = image->own_segments;
	image->n_segments = head.e_phnum;
	why = map(image, fd, (uint64_t)about.st_size);
	if (why)
		ol_image_close(image);
	else
		find_all(image);
	return why;
}

void ol_image_close(struct ol_image *image)
{
	if (image->mapped)
		munmap(image->mapped, image->size);
	free(image->own_segments);
	*image = (struct ol_image){ 0 };
}

static bool entry(const struct ol_image *image, uint32_t n, uint64_t *begin, uint64_t *description)
{
	uint32_t both[2];
	uint64_t at = image->table + (uint64_t)n * ENTRY;

	if (!word(image, at, &both[0]) || !word(image, at + 4, &both[1]))
		return false;
	*begin = image->header + (uint64_t)(int32_t)both[0];
	*description = image->header + (uint64_t)(int32_t)both[1];
	return true;
}

/* A description has its function's begin, relative to here, and size: taken only if both agree on the begin. */
static uint64_t described_end(const struct ol_image *image, uint64_t begin, uint64_t description)
{
	uint32_t relative, size;

	if (!word(image, description + 8, &relative) || !word(image, description + 12, &size) ||
	    description + 8 + (uint64_t)(int32_t)relative != begin)
		return 0;
	return begin + size;
}

bool ol_image_function(const struct ol_image *image, uint32_t n, struct ol_function *function)
{
	uint64_t description, next, nothing, end, described;

	if (!entry(image, n, &function->begin, &description))
		return false;
	end = ol_image_code_end(image, function->begin);
	if (n + 1 < image->n_functions && entry(image, n + 1, &next, &nothing) &&
	    next > function->begin && next < end)
		end = next;
	described = described_end(image, function->begin, description);
	function->end = described && described < end ? described : end;
	return function->begin < function->end;
}

/* How many functions begin up to there; 0 if the table has nonsense, too. */
static uint32_t n_up_to(const struct ol_image *image, uint64_t at)
{
	uint32_t low = 0, high = image->n_functions;
	uint64_t begin, nothing;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (!entry(image, middle, &begin, &nothing))
			return 0;
		if (begin <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t ol_image_function_at(const struct ol_image *image, uint64_t at)
{
	uint32_t n = n_up_to(image, at);
	struct ol_function found;

	if (!n || !ol_image_function(image, n - 1, &found) || at >= found.end)
		return image->n_functions;
	return n - 1;
}

bool ol_image_between(const struct ol_image *image, uint64_t at, uint32_t *n,
		      struct ol_function *code)
{
	uint64_t next, nothing, end = ol_image_code_end(image, at);
	uint32_t below = n_up_to(image, at);
	struct ol_function before;

	if (!below || !ol_image_function(image, below - 1, &before) || at < before.end ||
	    at >= end || ol_image_code_end(image, before.begin) != end)
		return false;
	*n = below - 1;
	code->begin = before.end;
	code->end = below < image->n_functions && entry(image, below, &next, &nothing) && next < end
			    ? next
			    : end;
	return true;
}

/* The value of a tag of the dynamic section; 0: it has none. */
static uint64_t dynamic(const struct ol_image *image, ElfW(Sxword) tag)
{
	for (unsigned i = 0; i < image->n_segments; i++) {
		const ElfW(Phdr) *s = &image->segments[i];
		const unsigned char *found;
		ElfW(Dyn) entry;

		if (s->p_type != PT_DYNAMIC)
			continue;
		for (uint64_t at = s->p_vaddr; (found = bytes(image, at, sizeof(entry), PF_R));
		     at += sizeof(entry)) {
			memcpy(&entry, found, sizeof(entry));
			if (entry.d_tag == DT_NULL)
				break;
			if (entry.d_tag == tag)
				return entry.d_un.d_val;
		}
	}
	return 0;
}

const char *ol_image_soname(const struct ol_image *image)
{
	uint64_t name = dynamic(image, DT_SONAME), strings = dynamic(image, DT_STRTAB), size = 1;
	const unsigned char *found;

	if (!name || !strings)
		return 0;
	/* As long as it is in the file, up to its end. */
	while ((found = bytes(image, strings + name, size, PF_R)) && found[size - 1])
		size++;
	return (const char *)found;
}

/* Loaders, the kernel's part, the C library, whose locks sleep and whose spinlocks are replaced otherwise; and ours. */
bool ol_image_is_left_alone(const char *name)
{
	static const char *const left_alone[] = { "ld-",       "linux-vdso",  "libc.so",
						  "libc.musl", "liboverlock", "libZydis",
						  "libZycore" };

	for (size_t k = 0; k < sizeof(left_alone) / sizeof(*left_alone); k++)
		if (!strncmp(name, left_alone[k], strlen(left_alone[k])))
			return true;
	return false;
}

void ol_image_build_id(const struct ol_image *image, char id[OL_BUILD_ID])
{
	id[0] = 0;
	for (unsigned i = 0; i < image->n_segments; i++) {
		uint64_t at = image->segments[i].p_vaddr, end = at + image->segments[i].p_filesz;
		uint32_t name, size, kind;

		if (image->segments[i].p_type != PT_NOTE)
			continue;
		while (at + 12 <= end && word(image, at, &name) && word(image, at + 4, &size) &&
		       word(image, at + 8, &kind)) {
			uint64_t value = at + 12 + (name + 3ull) / 4 * 4;
			const unsigned char *what = bytes(image, at + 12, 4, PF_R);
			const unsigned char *digits = bytes(image, value, size, PF_R);

			if (what && digits && kind == NT_GNU_BUILD_ID && name == 4 &&
			    !memcmp(what, "GNU", 4) && size < OL_BUILD_ID / 2) {
				for (uint32_t k = 0; k < size; k++)
					sprintf(id + 2 * (size_t)k, "%02x", digits[k]);
				return;
			}
			at = value + (size + 3ull) / 4 * 4;
		}
	}
}

/* Of eight bytes at a time; the two halves differ by the order in which they mix. */
struct digest {
	uint64_t one, other;
};

static void add(struct digest *d, uint64_t value)
{
	d->one = (d->one ^ value) * 0x9e3779b97f4a7c15u;
	d->one ^= d->one >> 32;
	d->other = (d->other << 25 | d->other >> 39) + value;
	d->other *= 0xd6e8feb86659fd93u;
}

static void add_bytes(struct digest *d, const unsigned char *at, uint64_t size)
{
	uint64_t value = 0;

	for (; size >= sizeof(value); at += sizeof(value), size -= sizeof(value)) {
		memcpy(&value, at, sizeof(value));
		add(d, value);
	}
	value = 0;
	memcpy(&value, at, size);
	add(d, value);
}

void ol_image_key(const struct ol_image *image, char key[OL_IMAGE_KEY])
{
	struct digest d = { 1, 1 };
	bool has_table = false;

	ol_image_build_id(image, key);
	if (*key || dynamic(image, DT_FLAGS) & DF_TEXTREL)
		return;
	for (unsigned i = 0; i < image->n_segments; i++) {
		const ElfW(Phdr) *s = &image->segments[i];

		if (s->p_type != PT_LOAD || (s->p_flags & (PF_R | PF_W)) != PF_R)
			continue;
		add(&d, s->p_vaddr);
		add(&d, s->p_filesz);
		add(&d, s->p_flags);
		add_bytes(&d, image->base + s->p_vaddr, s->p_filesz);
		has_table |= image->header - s->p_vaddr < s->p_filesz;
	}
	if (has_table)
		sprintf(key, "digest-%016llx%016llx", (unsigned long long)d.one,
			(unsigned long long)d.other);
}
