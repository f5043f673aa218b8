/* SPDX-License-Identifier: MIT */
#include "refusal.h"
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char said[200];

/* Quotes would have to be escaped in JSON. */
static int keep(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char line[sizeof(said)];

	if (getenv("OVERLOCK_BPF_DEBUG"))
		return vfprintf(stderr, format, arguments);
	if (level == LIBBPF_WARN && !said[0] &&
	    vsnprintf(line, sizeof(line), format, arguments) > 0) {
		line[strcspn(line, "\n\"")] = 0;
		memcpy(said, line, sizeof(said));
	}
	return 0;
}

void refusal_begin(void)
{
	said[0] = 0;
	libbpf_set_print(keep);
}

const char *refusal(int error)
{
	if (*said)
		return said;
	return error ? strerror(error) : "";
}
