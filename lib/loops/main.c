/* SPDX-License-Identifier: MIT */
/*
 * The waiting loops of programs and libraries, as a line of JSON for each:
 *
 *	overlock-loops [--at ADDRESS]... FILE...
 *
 * Addresses are the file's own, from 0; with --at, only functions that have one of them are looked at, each loop says
 * in "at" which of them it has, and "unread" are those of which nothing is known. A file that cannot be read has
 * "error" instead, and the status is 1. "object" is the name that `overlock run --spins` has for the file.
 */
#include "find.h"
#include "json_text.h"

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

/* What is asked for, and what has been told of a file. */
struct telling {
	const uint64_t *places; /* the lowest first; none: all is */
	size_t n_places;
	const struct ol_finder *finder;
	const char *refused; /* all of its loops */
	bool is_first;
	struct ol_function looked_at; /* the last */
	uint64_t read_up_to;	      /* in it */
};

static void print_places(const struct ol_loop *loop, const struct telling *t)
{
	const char *between = "";

	printf(",\"at\":[");
	for (size_t k = 0; k < t->n_places; k++)
		if (t->places[k] >= loop->begin && t->places[k] < loop->end &&
		    ol_find_has(t->finder, t->places[k])) {
			printf("%s%" PRIu64, between, t->places[k]);
			between = ",";
		}
	putchar(']');
}

static void print_word(const char *name, const struct ol_word *word)
{
	if (!word->after)
		printf(",\"%s\":null", name);
	else
		printf(",\"%s\":{\"base\":\"%s\",\"index\":\"%s\",\"scale\":%u,\"offset\":"
		       "%" PRId64 ",\"after\":%" PRIu64 ",\"stays\":%s}",
		       name, name_of(word->at.base), name_of(word->at.index), word->at.scale,
		       word->at.offset, word->after, word->stays ? "true" : "false");
}

static void print_loop(const struct ol_loop *loop, void *context)
{
	struct telling *t = context;
	const char *refused = loop->refused ? loop->refused : t->refused;

	printf("%s{\"function\":%" PRIu64 ",\"begin\":%" PRIu64 ",\"end\":%" PRIu64
	       ",\"kind\":\"%s\",\"patched\":%s,"
	       "\"relaxes\":%s,\"after_update\":%s",
	       t->is_first ? "" : ",", loop->function, loop->begin, loop->end,
	       ol_loop_kinds[loop->kind],
	       ol_loop_is_patched[loop->kind] && !refused ? "true" : "false",
	       loop->relaxes ? "true" : "false", loop->is_after_update ? "true" : "false");
	t->is_first = false;
	print_word("word", &loop->word);
	print_word("other", &loop->other);
	printf(",\"until_equal\":%s,\"value\":\"%s\",\"value_is_updates\":%s",
	       loop->until_equal ? "true" : "false", name_of(loop->value),
	       loop->value_is_updates ? "true" : "false");
	if (t->n_places)
		print_places(loop, t);
	printf(",\"jumps\":[");
	for (unsigned k = 0; k < loop->n_jumps; k++) {
		const struct ol_jump *j = &loop->jumps[k];

		printf("%s{\"after\":%" PRIu64 ",\"displacement\":%" PRIu64
		       ",\"size\":%u,\"target\":%" PRIu64 ",\"pad\":%" PRIu64 ",\"hop\":%" PRIu64
		       "}",
		       k ? "," : "", j->after, j->displacement, j->size, j->target, j->pad, j->hop);
	}
	printf("],\"refused\":\"%s\"}", refused ? refused : "");
}

static void print_error(const char *why)
{
	printf("\"error\":\"%s\"}\n", why);
}

/* False: nothing is known of that place. What has been looked at is kept, for the next place. */
static bool print_near(const struct ol_image *image, struct ol_finder *finder, uint64_t at,
		       struct telling *t)
{
	uint32_t n = ol_image_function_at(image, at);
	struct ol_function read;
	bool fine;

	if (at >= t->looked_at.begin && at < t->looked_at.end)
		return at < t->read_up_to;
	if (n < image->n_functions && ol_image_function(image, n, &read)) {
		t->looked_at = read;
		fine = ol_find_in(finder, n, print_loop, t);
	} else if (ol_image_between(image, at, &n, &read)) {
		const char *refused = t->refused;

		t->looked_at = read;
		t->refused = "the file does not say where its function begins";
		fine = ol_find_between(finder, n, &read, print_loop, t);
		t->refused = refused;
	} else {
		return false;
	}
	t->read_up_to = fine ? read.end : read.begin;
	return at < t->read_up_to;
}

static void print_those(const char *name, const struct telling *t, const bool *has, bool wanted)
{
	const char *between = "";

	printf("],\"%s\":[", name);
	for (size_t k = 0; k < t->n_places; k++)
		if (has[k] == wanted) {
			printf("%s%" PRIu64, between, t->places[k]);
			between = ",";
		}
}

/* Loops of the functions that have these places, each once; then which places nothing is known of, are in functions that relax, and are of calls. */
static bool print_around(const struct ol_image *image, struct ol_finder *finder, struct telling *t)
{
	bool *is_read = calloc(t->n_places, sizeof(*is_read)),
	     *relaxes = calloc(t->n_places, sizeof(*relaxes)),
	     *calls = calloc(t->n_places, sizeof(*calls)), fine = is_read && relaxes && calls;

	for (size_t k = 0; fine && k < t->n_places; k++) {
		is_read[k] = print_near(image, finder, t->places[k], t);
		relaxes[k] = is_read[k] && ol_find_relaxes(finder);
		calls[k] = is_read[k] && ol_find_calls(finder, t->places[k]);
	}
	if (fine) {
		print_those("unread", t, is_read, false);
		print_those("relaxing", t, relaxes, true);
		print_those("calls", t, calls, true);
	}
	free(is_read);
	free(relaxes);
	free(calls);
	return fine;
}

static bool print_loops(const struct ol_image *image, const char *name, const uint64_t *places,
			size_t n_places)
{
	struct ol_finder *finder = ol_finder_new(image, false);
	struct telling t = {
		.places = places, .n_places = n_places, .finder = finder, .is_first = true
	};
	bool fine = true;

	if (!finder) {
		print_error("memory is short");
		return false;
	}
	if (ol_image_is_left_alone(name))
		t.refused = "loops of the C library and the loader are left alone";
	printf("\"functions\":%u,\"loops\":[", image->n_functions);
	if (n_places)
		fine = print_around(image, finder, &t);
	else
		for (uint32_t n = 0; n < image->n_functions; n++)
			ol_find_in(finder, n, print_loop, &t);
	puts("]}");
	ol_finder_free(finder);
	return fine;
}

static const char *name_of_object(const struct ol_image *image, const char *file)
{
	const char *soname = ol_image_soname(image), *slash = strrchr(file, '/');

	return soname ? soname : slash ? slash + 1 : file;
}

static bool look_at(const char *file, const uint64_t *places, size_t n_places)
{
	struct ol_image image;
	char id[OL_BUILD_ID];
	const char *name;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const char *why;
	bool fine = false;

	printf("{\"file\":");
	ol_json_text(stdout, file);
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
	name = name_of_object(&image, file);
	printf("\"object\":");
	ol_json_text(stdout, name);
	printf(",\"build_id\":\"%s\",", id);
	if (image.n_functions)
		fine = print_loops(&image, name, places, n_places);
	else
		print_error("it does not say where its functions begin");
	ol_image_close(&image);
	return fine;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

int main(int argc, char **argv)
{
	static uint64_t *places;
	size_t n_places = 0;
	const char *why = ol_decode_start();
	bool fine = true;
	int k = 1;

	places = calloc((size_t)argc, sizeof(*places));
	if (!places)
		why = "no memory";
	if (why) {
		fprintf(stderr, "overlock-loops: %s\n", why);
		return 2;
	}

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
	qsort(places, n_places, sizeof(*places), by_address);
	for (; k < argc; k++)
		fine &= look_at(argv[k], places, n_places);
	free(places);
	return !fine;
}
