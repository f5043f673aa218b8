/* SPDX-License-Identifier: MIT */
/*
 * Site records as JSON, without stdio's buffers: the program's streams and its malloc stay out of
 * it. docs/reference/counters-json.md describes the format.
 */
#include "../site.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct writer {
	int fd, error;
	size_t used;
	bool comma;
	char text[4096];
};

static void flush(struct writer *w)
{
	for (size_t done = 0; done < w->used && !w->error;) {
		ssize_t n = write(w->fd, w->text + done, w->used - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			w->error = errno;
	}
	w->used = 0;
}

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
	enum { LONGEST = 64 }; /* strings go through put_text() */
	va_list args;
	int n;

	if (sizeof(w->text) - w->used < LONGEST)
		flush(w);
	va_start(args, format);
	n = vsnprintf(w->text + w->used, LONGEST, format, args);
	va_end(args);
	w->used += (size_t)(n < LONGEST ? n : LONGEST - 1);
}

static void put_text(struct writer *w, const char *text)
{
	put(w, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == '"' || c == '\\')
			put(w, "\\u%04x", c);
		else
			put(w, "%c", c);
	}
	put(w, "\"");
}

#pragma weak dladdr1 /* another C library may lack it, and then has nothing for us to write: run/weak.h */

static const char *(*namer)(const void *site);

void ol_sites_name_by(const char *(*name)(const void *site))
{
	namer = name;
}

/* Of the program itself the loader knows no more than what it was started as. */
static void put_file(struct writer *w, const struct link_map *object, const char *started_as)
{
	char path[PATH_MAX];
	ssize_t n = *object->l_name ? -1 : readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n >= 0)
		path[n] = 0;
	put_text(w, n >= 0 ? path : *object->l_name ? object->l_name : started_as);
}

/* Where the call is, as addr2line wants it. */
static void put_site(struct writer *w, const void *site)
{
	Dl_info where;
	struct link_map *object;
	const char *name = namer ? namer(site) : 0;

	put(w, "\"site\": \"%#" PRIxPTR "\"", (uintptr_t)site);
	if (!dladdr1(site, &where, (void **)&object, RTLD_DL_LINKMAP) || !where.dli_fname)
		return;
	put(w, ", \"module\": ");
	put_file(w, object, where.dli_fname);
	put(w, ", \"offset\": %zu", (size_t)((uintptr_t)site - object->l_addr));
	name = name ? name : where.dli_sname;
	if (name) {
		put(w, ", \"function\": ");
		put_text(w, name);
	}
}

static const char *const event_names[] = {
#define OL_EVENT(name, what) #name,
#include <overlock/events.def>
#undef OL_EVENT
};

static void put_events(struct writer *w, const uint64_t *events)
{
	const char *comma = "";

	put(w, ", \"events\": {");
	for (unsigned i = 0; i < OL_EVENTS; i++) {
		if (!events[i])
			continue;
		put(w, "%s\"%s\": %" PRIu64, comma, event_names[i], events[i]);
		comma = ", ";
	}
	put(w, "}");
}

/* By event, how many fell into each bucket of ol_place(). */
static void put_places(struct writer *w, const uint64_t places[][OL_PLACES])
{
	const char *comma = "";

	put(w, ", \"places\": {");
	for (unsigned i = 0; i < OL_EVENTS; i++) {
		uint64_t any = 0;

		for (unsigned p = 0; p < OL_PLACES; p++)
			any |= places[i][p];
		if (!any)
			continue;
		put(w, "%s\"%s\": [", comma, event_names[i]);
		for (unsigned p = 0; p < OL_PLACES; p++)
			put(w, "%s%" PRIu64, p ? ", " : "", places[i][p]);
		put(w, "]");
		comma = ", ";
	}
	put(w, "}");
}

/* The papers' counts, by the papers' names. */
static void put_preemptions(struct writer *w, const uint64_t *events)
{
	uint64_t told = events[OL_STALL_HELD] + events[OL_STALL_FREE], all = events[OL_STALL];

	put(w, ", \"stalls\": {\"N\": %" PRIu64, events[OL_ACQUIRE]);
	put(w, ", \"Nh\": %" PRIu64, events[OL_STALL_HELD]);
	put(w, ", \"Nw\": %" PRIu64, events[OL_STALL_FREE]);
	put(w, ", \"unknown\": %" PRIu64 "}", all > told ? all - told : 0);
	put(w, ", \"preemptions\": ");
	if (!ol_sites_know_slices()) {
		put(w, "null");
		return;
	}
	put(w, "{\"LHP\": %" PRIu64, events[OL_LHP]);
	put(w, ", \"LWP\": %" PRIu64, events[OL_LWP]);
	put(w, ", \"PSP\": %" PRIu64 "}", events[OL_LHP] + events[OL_LWP]);
}

/* Pairs of a bucket's least time and its count; empty buckets are left out. */
static void put_histogram(struct writer *w, const char *name, const uint64_t *buckets)
{
	const char *comma = "";

	put(w, ", \"%s\": [", name);
	for (unsigned i = 0; i < OL_BUCKETS; i++) {
		if (!buckets[i])
			continue;
		put(w, "%s[%" PRIu64 ", %" PRIu64 "]", comma, ol_bucket_least(i), buckets[i]);
		comma = ", ";
	}
	put(w, "]");
}

static void put_record(const struct ol_site_record *r, void *arg)
{
	struct writer *w = arg;

	put(w, "%s\n    {", w->comma ? "," : "");
	w->comma = true;
	put_site(w, r->site);
	put(w, ", \"lock\": ");
	put_text(w, r->lock->id);
	put_events(w, r->events);
	put_places(w, r->places);
	put_preemptions(w, r->events);
	put(w, ", \"wait_ns\": %" PRIu64 ", \"spin_ns\": %" PRIu64, r->wait_ns, r->spin_ns);
	if (ol_sites_times_kept()) {
		put(w, ", \"hold_ns\": %" PRIu64, r->hold_ns);
		put(w, ", \"handover_ns\": %" PRIu64, r->handover_ns);
		put_histogram(w, "wait", r->wait);
		put_histogram(w, "hold", r->hold);
	}
	put(w, "}");
}

int ol_sites_write(int fd)
{
	struct writer w = { .fd = fd };
	int error;

	put(&w, "{\n  \"version\": 2,\n  \"missed\": %" PRIu64 ",\n  \"sites\": [",
	    ol_sites_missed());
	error = ol_sites_read(put_record, &w);
	put(&w, "\n  ]\n}\n");
	flush(&w);
	return error ? error : w.error;
}
