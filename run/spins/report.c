/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "internal.h"

#include <inttypes.h>
#include <overlock/port.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *why_not;

static void put_text(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c >= 0x7f || c == '"' || c == '\\')
			fprintf(file, "\\u%04x",
				c >= 0x80 ? 0xdc00u + c : c); /* as Python's surrogateescape */
		else
			fputc(c, file);
	}
	fputc('"', file);
}

static void put_loop(FILE *file, const struct ol_found_loop *loop)
{
	uint64_t looks = 0, yields = 0, found = 0, yielded = 0;

	for (unsigned k = 0; k < loop->n_sites; k++) {
		const struct site *site = &loop->sites[k];

		looks += ol_load_relaxed(&site->looks);
		yields += ol_load_relaxed(&site->yields);
		found += ol_load_relaxed(&site->found);
		yielded += ol_load_relaxed(&site->yielded);
	}
	fputs("{\"object\":", file);
	put_text(file, loop->object);
	fprintf(file,
		",\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",\"kind\":\"%s\",\"refused\":\"%s\"",
		loop->begin, loop->end, ol_loop_kinds[loop->kind],
		loop->refused ? loop->refused : "");
	fprintf(file,
		",\"looks\":%" PRIu64 ",\"yields\":%" PRIu64 ",\"found\":%" PRIu64
		",\"yielded_ns\":%" PRIu64 "}",
		looks, yields, found, ol_ns_from_ticks(yielded));
}

void ol_spins_report_start(const char *why)
{
	why_not = why;
	if (why)
		ol_spins_report(0);
}

void ol_spins_report(const struct ol_found_loop *loops)
{
	const char *folder = getenv("OVERLOCK_SPINS_OUTPUT");
	char *path = 0, *aside = 0;
	FILE *file;

	if (!folder || asprintf(&path, "%s/%d.json", folder, getpid()) < 0 ||
	    asprintf(&aside, "%s.new", path) < 0)
		return;
	file = fopen(aside, "we");
	if (file) {
		fprintf(file, "{\"pid\":%d,\"why_not\":", getpid());
		put_text(file, why_not ? why_not : "");
		fputs(",\"loops\":[", file);
		for (const struct ol_found_loop *loop = loops; loop; loop = loop->next) {
			put_loop(file, loop);
			if (loop->next)
				fputc(',', file);
		}
		fputs("]}\n", file);
		if (!fclose(file))
			rename(aside, path);
	}
	free(path);
	free(aside);
}
