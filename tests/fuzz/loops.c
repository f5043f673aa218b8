/* SPDX-License-Identifier: MIT */
/*
 * The file of a program or library in whose code waiting loops are looked for, as `overlock profile` does, as root:
 * an address, of 8 bytes, and the file. Loops are found around that address.
 */
#define OL_ZYDIS  "libZydis.so"
#define OL_ZYCORE "libZycore.so"
#include "must.h"
#include "loops/decode.c"
#include "loops/find.c"
#include "loops/image.c"

#include <sys/mman.h>

static const struct ol_image *looked_at;
static struct ol_finder *finder;

static void check_loop(const struct ol_loop *loop, void *context)
{
	const struct ol_function *function = context;

	must(loop->begin >= function->begin && loop->begin < loop->end &&
		     loop->end <= function->end,
	     "a loop is not in its function");
	must(ol_find_has(finder, loop->begin), "a loop does not have its first instruction");
	for (unsigned k = 0; k < loop->n_jumps; k++) {
		const struct ol_jump *jump = &loop->jumps[k];

		must(jump->after > loop->begin && jump->after <= loop->end,
		     "a jump is not in its loop");
		must(loop->refused || ol_image_code(looked_at, jump->pad, OL_PAD),
		     "a pad is not in the code");
	}
}

static void look_around(const struct ol_image *image, uint64_t at)
{
	uint32_t n = ol_image_function_at(image, at);
	struct ol_function function;

	looked_at = image;
	finder = ol_finder_new(image, false);
	must(finder, "there is no memory");
	if (n < image->n_functions) {
		must(ol_image_function(image, n, &function) && at >= function.begin &&
			     at < function.end,
		     "it is another function");
		ol_find_in(finder, n, check_loop, &function);
	} else if (ol_image_between(image, at, &n, &function)) {
		uint64_t end = function.end;

		must(at >= function.begin && at < end, "it is other code");
		ol_find_between(finder, n, &function, check_loop,
				&(struct ol_function){ function.begin, end });
		must(function.end <= end, "there is more code than was given");
	}
	ol_finder_free(finder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static int fd = -1;
	struct ol_image image;
	char id[OL_BUILD_ID];
	const char *name;
	uint64_t at;

	must(!ol_decode_start(), "there is no decoder");
	if (n < sizeof(at))
		return -1;
	memcpy(&at, bytes, sizeof(at));
	if (fd < 0)
		fd = memfd_create("object", MFD_CLOEXEC);
	must(fd >= 0 && !ftruncate(fd, 0) &&
		     pwrite(fd, bytes + sizeof(at), n - sizeof(at), 0) == (ssize_t)(n - sizeof(at)),
	     "there is no file");
	if (ol_image_open(&image, fd))
		return 0;
	name = ol_image_soname(&image);
	must(!name || strlen(name) < n, "a name is longer than its file");
	ol_image_build_id(&image, id);
	look_around(&image, at);
	ol_image_close(&image);
	return 0;
}
