/* SPDX-License-Identifier: MIT */
/* What a report says: as JSON, and as a table for people. */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int table_rows = 12;

void ol_run_report_table_start(const char *rows)
{
	if (rows && atoi(rows) > 0)
		table_rows = atoi(rows);
}

static void put_left(struct string *t)
{
#define OL_LEFT(name, what)                                                                       \
	ol_run_string_put(t, "%s\"" #name "\": %" PRIu64, comma, ol_run_left.name), comma = ", ";
	const char *comma = "";

	ol_run_string_put(t, "\"left\": {");
	LEFT_LIST
	ol_run_string_put(t, "}");
#undef OL_LEFT
}

struct rules_writer {
	struct string *t;
	const char *comma;
};

static bool put_rule(const char *pattern, const char *lock, uint64_t mutexes, void *arg)
{
	struct rules_writer *w = arg;

	ol_run_string_put(w->t, "%s{\"pattern\": ", w->comma);
	ol_run_string_quote(w->t, pattern);
	ol_run_string_put(w->t, ", \"lock\": \"%s\", \"mutexes\": %" PRIu64 "}", lock, mutexes);
	w->comma = ", ";
	return true;
}

static void put_rules(struct string *t)
{
	struct rules_writer w = { t, "" };

	ol_run_string_put(t, "\"rules\": [");
	ol_run_rules_each(put_rule, &w);
	ol_run_string_put(t, "], ");
}

/* The program may have taken the signal for itself; then it is not told of here. */
static void put_demand(struct string *t)
{
	if (ol_run_demand_number())
		ol_run_string_put(t, "\"signal\": {\"number\": %u, \"taken\": %s}, ",
				  (unsigned)ol_run_demand_number(),
				  ol_run_demand_is_taken() ? "true" : "false");
}

static void put_stacks(struct string *t)
{
	struct string stacks = { 0 };

	ol_run_stacks_write(&stacks);
	if (stacks.used)
		ol_run_string_put(t, "\"stacks\": %s, ", stacks.at);
	ol_run_string_free(&stacks);
}

/* All but stacks and sites. */
static void put_json(struct string *t, enum occasion when)
{
	const struct ol_lock_ops *openmp = ol_run_openmp_lock();

	ol_run_string_put(t, "{\"lock\": \"%s\", \"pid\": %u, \"ended\": %s, ", ol_run_chosen->id,
			  (unsigned)getpid(), when == END ? "true" : "false");
	if (openmp)
		ol_run_string_put(t, "\"openmp_lock\": \"%s\", ", openmp->id);
	put_demand(t);
	put_rules(t);
	put_left(t);
	if (IS_CHECKED) {
		ol_run_string_put(t, ", \"findings\": [");
		ol_run_misuse_put(t, when == FINDING);
		ol_run_string_put(t, "]");
	}
	ol_run_string_put(t, ", ");
}

static bool write_string(int fd, struct string *t, enum occasion when)
{
	bool fine = ol_run_report_write(fd, t->at, t->used, when);

	ol_run_string_free(t);
	return fine;
}

/* Of a finding. Its thread may hold locks: no time for more. */
bool ol_run_report_write_found(int fd, enum occasion when)
{
	struct string t = { 0 };

	put_json(&t, when);
	ol_run_string_put(&t, "\"sites\": null}\n");
	return write_string(fd, &t, when);
}

bool ol_run_report_write_whole(int fd, enum occasion when)
{
	struct string t = { 0 };

	put_json(&t, when);
	put_stacks(&t);
	return write_string(fd, &t, when) && dprintf(fd, "\"sites\": ") > 0 &&
	       !ol_sites_write(fd) && dprintf(fd, "}\n") > 0;
}

struct table {
	int fd, rows;
	bool timed;
	uint64_t rest, events[OL_EVENTS]; /* of the others; of all */
	uint64_t wait[OL_BUCKETS], hold[OL_BUCKETS];
};

/* The function that the call is in; not where it returns to, which may be the next one. */
const char *ol_run_report_name_of(const void *site)
{
	static struct string plain, cpp;

	return ol_run_symbol_at(&plain, &cpp, (const char *)site - 1, true);
}

static void write_call(int fd, const void *site)
{
	const char *name = ol_run_report_name_of(site);
	struct object o;

	if (name)
		ol_run_report_write(fd, name, strlen(name), END);
	if (!ol_run_object_at(site, &o))
		dprintf(fd, "%s%p", name ? " " : "", site);
	else
		dprintf(fd, name ? " (%s+%#zx)" : "%s+%#zx", ol_run_object_name(&o),
			(size_t)((uintptr_t)site - o.base));
}

static void write_row(const struct ol_site_record *r, void *arg)
{
	struct table *t = arg;

	for (unsigned i = 0; i < OL_EVENTS; i++)
		t->events[i] += r->events[i];
	for (unsigned i = 0; i < OL_BUCKETS; i++) {
		t->wait[i] += r->wait[i];
		t->hold[i] += r->hold[i];
	}
	if (t->rows++ >= table_rows) {
		t->rest += r->events[OL_ACQUIRE];
		return;
	}
	dprintf(t->fd, "%14" PRIu64 " %12" PRIu64 " %12.3f %12.3f", r->events[OL_ACQUIRE],
		r->events[OL_SLOW_PATH], (double)r->wait_ns / 1e6, (double)r->spin_ns / 1e6);
	if (t->timed)
		dprintf(t->fd, " %12.3f", (double)r->hold_ns / 1e6);
	dprintf(t->fd, "  ");
	write_call(t->fd, r->site);
	dprintf(t->fd, "\n");
}

/* What the papers count, by their names; docs/counters.md. */
static void write_preemptions(int fd, const uint64_t *events)
{
	dprintf(fd, "%14" PRIu64 " waits over 1 us (Nh %" PRIu64 ", Nw %" PRIu64 "); ",
		events[OL_STALL], events[OL_STALL_HELD], events[OL_STALL_FREE]);
	if (ol_sites_know_slices())
		dprintf(fd, "LHP %" PRIu64 ", LWP %" PRIu64 ", PSP %" PRIu64 "\n", events[OL_LHP],
			events[OL_LWP], events[OL_LHP] + events[OL_LWP]);
	else
		dprintf(fd, "LHP, LWP: unknown, no source of slice ends\n");
}

/* The bucket that so many thousandths of them do not exceed. */
static unsigned quantile(const uint64_t *buckets, uint64_t n, unsigned thousandths)
{
	uint64_t seen = 0;
	unsigned i = 0;

	while (i < OL_BUCKETS - 1 && (seen += buckets[i]) * 1000 < n * thousandths)
		i++;
	return i;
}

static void write_histogram(int fd, const char *what, const uint64_t *buckets)
{
	static const unsigned thousandths[] = { 500, 900, 990, 999, 1000 };
	uint64_t n = 0;

	for (unsigned i = 0; i < OL_BUCKETS; i++)
		n += buckets[i];
	dprintf(fd, "%14" PRIu64 " %s", n, what);
	for (unsigned i = 0; n && i < sizeof(thousandths) / sizeof(*thousandths); i++)
		dprintf(fd, "%s %g %% under %" PRIu64 " ns", i ? "," : ":", thousandths[i] / 10.0,
			ol_bucket_least(quantile(buckets, n, thousandths[i]) + 1));
	dprintf(fd, "\n");
}

static bool write_idle_rule(const char *pattern, const char *lock, uint64_t mutexes, void *arg)
{
	if (!mutexes)
		dprintf(*(int *)arg,
			"no mutex uses %s: no function that initialises or first locks a mutex "
			"matches '%s'\n",
			lock, pattern);
	return true;
}

void ol_run_report_write_table(int fd, enum occasion when)
{
	struct table t = { .fd = fd, .timed = ol_sites_times_kept() };
	const struct ol_lock_ops *openmp = ol_run_openmp_lock();

	dprintf(fd, "overlock: %s under %s%s%s%s\n%14s %12s %12s %12s%s  %s\n",
		program_invocation_short_name, ol_run_chosen->id,
		openmp ? ", OpenMP's locks under " : "", openmp ? openmp->id : "",
		when == END ? "" : ", so far", "acquisitions", "waited", "wait ms", "spin ms",
		t.timed ? "      hold ms" : "", "call");
	ol_sites_read(write_row, &t);
	write_preemptions(fd, t.events);
	if (t.timed) {
		write_histogram(fd, "waits", t.wait);
		write_histogram(fd, "holds", t.hold);
	}
	if (t.rest)
		dprintf(fd, "%14" PRIu64 " at %d other calls\n", t.rest, t.rows - table_rows);
#define OL_LEFT(name, what)	\
	if (ol_run_left.name)		\
		dprintf(fd, "%14" PRIu64 " %s\n", ol_run_left.name, what);
	LEFT_LIST
#undef OL_LEFT
	if (when == END && ol_run_demand_is_taken())
		dprintf(fd, "the program handles signal %d itself, so it wrote no report on it\n",
			ol_run_demand_number());
	ol_run_rules_each(write_idle_rule, &fd);
}
