/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "internal.h"
#include "json_text.h"

#include <inttypes.h>
#include <overlock/port.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *folder;

static void put_loop(FILE *file, const struct ol_object *object, const struct ol_found_loop *loop)
{
	uint64_t yields = 0, found = 0, yielded = 0;
	bool waited = false;

	for (unsigned k = 0; k < loop->n_sites; k++) {
		const struct site *site = &loop->sites[k];

		waited |= ol_load_relaxed(&site->waited);
		yields += ol_load_relaxed(&site->yields);
		found += ol_load_relaxed(&site->found);
		yielded += ol_load_relaxed(&site->yielded);
	}
	fputs("{\"object\":", file);
	ol_json_text(file, object->name);
	fprintf(file,
		",\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",\"kind\":\"%s\",\"refused\":\"%s\"",
		loop->begin, loop->end, ol_loop_kinds[loop->kind],
		loop->refused ? loop->refused : "");
	fprintf(file, ",\"retargeted\":%u,\"waited\":%s", loop->retargeted,
		waited ? "true" : "false");
	fprintf(file, ",\"yields\":%" PRIu64 ",\"found\":%" PRIu64 ",\"yielded_ns\":%" PRIu64 "}",
		yields, found, ol_ns_from_ticks(yielded));
}

static void put_all(FILE *file, const struct ol_object *objects, const char *why_not, bool is_last)
{
	const char *between = "";

	fprintf(file, "{\"pid\":%d,\"last\":%s,\"why_not\":", getpid(), is_last ? "true" : "false");
	ol_json_text(file, why_not ? why_not : "");
	fputs(",\"loops\":[", file);
	for (const struct ol_object *object = objects; object; object = object->next)
		for (const struct ol_found_loop *loop = object->loops; loop; loop = loop->next) {
			fputs(between, file);
			put_loop(file, object, loop);
			between = ",";
		}
	fputs("]}\n", file);
}

/* The program may write over its environment, as those do that change how they are listed. */
void ol_spins_report_start(void)
{
	const char *named = getenv("OVERLOCK_SPINS_OUTPUT");

	folder = named ? strdup(named) : 0;
}

void ol_spins_report(const struct ol_object *objects, const char *why_not, bool is_last)
{
	char *path = 0, *aside = 0;
	FILE *file;

	if (!folder || asprintf(&path, "%s/%d.json", folder, getpid()) < 0 ||
	    asprintf(&aside, "%s.new", path) < 0)
		return;
	file = fopen(aside, "we");
	if (file) {
		put_all(file, objects, why_not, is_last);
		if (!fclose(file))
			rename(aside, path);
	}
	free(path);
	free(aside);
}
