/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "names.h"
#include "words.h"
#include <stdio.h>
#include <sys/syscall.h>

const char *const role_names[ROLES] = {
#define ROLE(NAME, TEXT) TEXT,
#include "waits.def"
};

const char *const state_names[STATES] = {
#define STATE(NAME, TEXT) TEXT,
#include "waits.def"
};

void tell_call(__u32 number)
{
	static const struct {
		__u32 number;
		const char *name;
	} calls[] = {
#define CALL(name) { SYS_##name, #name },
#include "calls.def"
	};
	char text[32] = "";

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number) {
			tell_string(calls[i].name);
			return;
		}
	if ((__s32)number >= 0)
		snprintf(text, sizeof(text), "system call %u", number);
	tell_string(text);
}
