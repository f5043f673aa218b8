/* SPDX-License-Identifier: MIT */
/*
 * The waiting loops of programs and libraries, as a line of JSON for each:
 *
 *	overlock-loops [--at ADDRESS]... FILE...
 *
 * Addresses are the file's own, from 0; with --at, only functions that have one of them are looked at. A file that
 * cannot be read has "error" instead, and the status is 1.
 */
#include "find.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const registers[] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8",
	"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "?",
};

static const char *name_of(uint8_t reg)
{
	if (reg == OL_REGISTER_IP)
		return "rip";
	return reg <= OL_REGISTER_OTHER ? registers[reg] : "";
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < ' ' || c >= 0x7f)
			printf("\\u%04x", c == 0x7f   ? c
					  : c >= 0x80 ? 0xdc00u + c
						      : c); /* as Python's surrogateescape */
		else
			putchar(c);
	}
	putchar('"');
}

static void print_loop(const struct ol_loop *loop, void *context)
{
	bool *is_first = context;

	printf("%s{\"function\":%" PRIu64 ",\"begin\":%" PRIu64 ",\"end\":%" PRIu64
	       ",\"kind\":\"%s\",\"patched\":%s,"
	       "\"relaxes\":%s",
	       *is_first ? "" : ",", loop->function, loop->begin, loop->end,
	       ol_loop_kinds[loop->kind],
	       ol_loop_is_patched[loop->kind] && !loop->refused ? "true" : "false",
	       loop->relaxes ? "true" : "false");
	*is_first = false;
	printf(",\"word\":{\"base\":\"%s\",\"index\":\"%s\",\"scale\":%u,\"offset\":%" PRId64
	       ",\"after\":%" PRIu64 "}",
	       name_of(loop->word.base), name_of(loop->word.index), loop->word.scale,
	       loop->word.offset, loop->word_after);
	printf(",\"jumps\":[");
	for (unsigned k = 0; k < loop->n_jumps; k++) {
		const struct ol_jump *j = &loop->jumps[k];

		printf("%s{\"after\":%" PRIu64 ",\"displacement\":%" PRIu64
		       ",\"size\":%u,\"target\":%" PRIu64 ",\"pad\":%" PRIu64 ",\"hop\":%" PRIu64
		       "}",
		       k ? "," : "", j->after, j->displacement, j->size, j->target, j->pad, j->hop);
	}
	printf("],\"refused\":\"%s\"}", loop->refused ? loop->refused : "");
}

static void print_error(const char *why)
{
	printf("\"error\":\"%s\"}\n", why);
}

static bool print_loops(const struct ol_image *image, const uint64_t *places, size_t n_places)
{
	struct ol_finder *finder = ol_finder_new(image, false);
	bool is_first = true;

	if (!finder) {
		print_error("memory is short");
		return false;
	}
	printf("\"functions\":%u,\"loops\":[", image->n_functions);
	if (!n_places)
		for (uint32_t n = 0; n < image->n_functions; n++)
			ol_find_in(finder, n, print_loop, &is_first);
	for (size_t k = 0; k < n_places; k++) {
		uint32_t n = ol_image_function_at(image, places[k]);

		if (n < image->n_functions)
			ol_find_in(finder, n, print_loop, &is_first);
	}
	puts("]}");
	ol_finder_free(finder);
	return true;
}

static bool look_at(const char *file, const uint64_t *places, size_t n_places)
{
	struct ol_image image;
	char id[OL_BUILD_ID];
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const char *why;
	bool fine = false;

	printf("{\"file\":");
	print_text(file);
	putchar(',');
	if (fd < 0) {
		print_error(strerror(errno));
		return false;
	}
	why = ol_image_open(&image, fd);
	close(fd);
	if (why) {
		print_error(why);
		return false;
	}
	ol_image_build_id(&image, id);
	printf("\"build_id\":\"%s\",", id);
	if (image.n_functions)
		fine = print_loops(&image, places, n_places);
	else
		print_error("it does not say where its functions begin");
	ol_image_close(&image);
	return fine;
}

int main(int argc, char **argv)
{
	uint64_t *places = calloc((size_t)argc, sizeof(*places));
	size_t n_places = 0;
	const char *why = ol_decode_start();
	bool fine = true;
	int k = 1;

	for (; k + 1 < argc && !strcmp(argv[k], "--at"); k += 2) {
		char *end;

		places[n_places++] = strtoull(argv[k + 1], &end, 0);
		if (*end || !*argv[k + 1]) {
			fprintf(stderr, "overlock-loops: --at %s: expected an address\n",
				argv[k + 1]);
			return 2;
		}
	}
	if (k == argc || argv[k][0] == '-') {
		fprintf(stderr, "usage: overlock-loops [--at ADDRESS]... FILE...\n");
		return 2;
	}
	if (why) {
		fprintf(stderr, "overlock-loops: %s\n", why);
		return 2;
	}
	for (; k < argc; k++)
		fine &= look_at(argv[k], places, n_places);
	free(places);
	return !fine;
}
