/* SPDX-License-Identifier: MIT */
/*
 * The file of a program that `overlock run` is to start: ELF, a script, or anything. The answer is
 * what is preloaded, or a refusal.
 */
#include <setjmp.h>

#include "must.h"
#include "run/program.c"
#include <sys/mman.h>

static jmp_buf refused;

_Noreturn void refuse(int code, const char *format, ...)
{
	must(code >= CANNOT_START && code <= NOT_FOUND && strchr(format, ';'),
	     "a refusal does not say what to do");
	longjmp(refused, 1);
}

/* The launcher ends where it refuses, and frees nothing then. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static bool loads_first(const char *list, const char *library)
{
	const char *end;

	for (; (end = strchr(list, ':')) && strcmp(list, library) != 0; list = end + 1) {
		char *name = strndup(list, (size_t)(end - list));
		bool is_first = name && comes_first(name);

		free(name);
		if (!is_first)
			return false;
	}
	return !strcmp(list, library);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const char library[] = "/proc/self/exe"; /* of this machine */
	static int fd = -1;
	char path[64], *list;

	if (fd < 0)
		fd = memfd_create("program", MFD_CLOEXEC);
	must(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, bytes, n, 0) == (ssize_t)n,
	     "there is no file");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (setjmp(refused)) {
		close_range((unsigned)fd + 1, (unsigned)fd + 8, 0); /* what was open then */
		return 0;
	}
	list = preloaded_into(path, library);
	must(loads_first(list, library), "something else is preloaded");
	free(list);
	return 0;
}
