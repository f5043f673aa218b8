/* SPDX-License-Identifier: MIT */
/*
 * Rules of OVERLOCK_SITES, and the symbols of a program's file that they are held against: a rule a
 * line, a zero, and the bytes of the file.
 */
#include "lent.h"
#include "refusing.h"

#include "run/diag/symbols.c"
/* Two files, two `fits`. */
#include "run/diag/choice.c"

static int file_of(const uint8_t *bytes, size_t n)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("object", MFD_CLOEXEC);
	must(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, bytes, n, 0) == (ssize_t)n,
	     "there is no file");
	return fd;
}

static void check_ranges(const struct known *k)
{
	for (size_t i = 0; i < k->n; i++) {
		must(k->ranges[i].rule < n_rules, "a range has no rule");
		must(!i || k->ranges[i - 1].start <= k->ranges[i].start, "ranges are not in order");
		must(k->ranges[i].reach >= k->ranges[i].end, "a range reaches less far than it is");
	}
}

static void take(const char *text, const uint8_t *bytes, size_t n)
{
	struct known k = { .object = { .start = 0x1000, .end = 0x9000, .base = 0x1000 } };
	struct string plain = { 0 }, cpp = { 0 };
	char path[64];

	rules_start(text);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_of(bytes, n));
	k.object.path = path;
	learn(&k);
	check_ranges(&k);
	ol_run_string_free(&plain);
	ol_run_string_free(&cpp);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	size_t length = strnlen((const char *)bytes, n);
	char *text = text_of(bytes, length);

	n_rules = 0;
	if (*text && !setjmp(refused))
		take(text, bytes + length + (length < n), n - length - (length < n));
	give_all_back();
	free(text);
	return 0;
}
