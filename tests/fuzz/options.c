/* SPDX-License-Identifier: MIT */
/*
 * `overlock run`'s command line as the launcher understands it, and the libraries that were preloaded
 * already: words, each with a zero behind it, the first of them LD_PRELOAD.
 */
#include "must.h"
#define main launcher
#include "run/launch.c"
#undef main
#define OL_VERSION ""
#include "lib/tunable.c"
#include "run/alone.c"
#include "run/environment.c"
#include "run/program.c"

enum { WORDS = 16 };

/* The launcher frees nothing of what it tells to the program. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* Each of them once more, and none of ours. */
static void check_preloaded(const char *list)
{
	char *beside = ol_run_preloaded_beside(0, list), *again, *word, *rest;

	must(beside, "there is no memory");
	again = ol_run_preloaded_beside(0, beside);
	must(again && !strcmp(again, beside), "what is left is not left the second time");
	for (word = strtok_r(again, ":", &rest); word; word = strtok_r(0, ":", &rest))
		must(!is_ours(word, strlen(word)) && strstr(list, word), "a library is wrong");
	free(again);
	free(beside);
}

static void check_tunable(const struct ol_tunable *t, const char *text)
{
	unsigned __int128 v = 0;
	uint64_t value;

	if (!ol_tunable_parse(t, text, &value) || !strcmp(text, "inf"))
		return;
	for (; *text; text++)
		v = v * 10 + (unsigned)(*text - '0');
	must(v == value && v >= t->least && v <= t->most, "a number is another");
}

static void check_options(char **words)
{
	struct asked a = { 0 };

	if (!understand(&a, words))
		return;
	must(a.program && *a.program, "there is no program");
	for (size_t i = 0; i < PLAINS; i++)
		must(!a.plain[i] || (strcmp(a.plain[i], plains[i].preset) != 0 &&
				     plains[i].accepts(plains[i].argument, a.plain[i])),
		     "a value is none");
	for (size_t i = 0; i < OL_TUNABLES; i++)
		if (a.tunable[i])
			check_tunable(&ol_tunables[i], a.tunable[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char *text = text_of(bytes, n), *words[WORDS + 1] = { 0 };
	size_t count = 0;

	for (size_t at = 0; at < n && count < WORDS; at += strlen(text + at) + 1)
		words[count++] = text + at;
	if (count) {
		check_preloaded(words[0]);
		check_options(words + 1);
	}
	for (size_t i = 0; i < count * OL_TUNABLES; i++)
		check_tunable(&ol_tunables[i % OL_TUNABLES], words[i / OL_TUNABLES]);
	free(text);
	return 0;
}
