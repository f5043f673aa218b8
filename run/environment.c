/* SPDX-License-Identifier: MIT */
#include "environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether an `overlock run` put it there. */
static bool is_ours(const char *path, size_t n)
{
	const char *slash = memrchr(path, '/', n), *name = slash ? slash + 1 : path;

	return (size_t)(path + n - name) >= strlen(LIBRARIES) &&
	       !memcmp(name, LIBRARIES, strlen(LIBRARIES));
}

char *ol_run_preloaded_beside(const char *first, const char *list)
{
	char *beside = 0;
	size_t size = 0, n;
	FILE *f = open_memstream(&beside, &size);
	bool fine = f && (!first || fputs(first, f) >= 0);
	const char *colon = first ? ":" : "";

	for (; fine && list && *list; list += n + (list[n] != 0)) {
		n = strcspn(list, ": ");
		if (!n || is_ours(list, n))
			continue;
		fine = fprintf(f, "%s%.*s", colon, (int)n, list) > 0;
		colon = ":";
	}
	if ((f && fclose(f)) || !fine) {
		free(beside);
		return 0;
	}
	return beside;
}

void ol_run_remove_told(void)
{
	unsetenv("LD_PRELOAD");
#define OL_VARIABLE(name, what) unsetenv("OVERLOCK_" #name);
#include "variables.def"
#undef OL_VARIABLE
}
