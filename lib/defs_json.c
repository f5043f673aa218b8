/* SPDX-License-Identifier: MIT */
/* Prints what the .def files say, as JSON, for programs that do not read C. */
#include "site.h"
#include <chaos/guest.h>
#include <chaos/record.h>
#include <record/record.h>
#include <defaults.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *separator = "";

static void text(const char *name, const char *value, const char *end)
{
	printf("\"%s\": \"", name);
	for (; *value; value++)
		printf(*value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
	printf("\"%s", end);
}

static void traits(uint32_t set)
{
	static const char *const names[] = {
#define OL_TRAIT(name, bit, what) [bit] = #name,
		OL_EACH_TRAIT
#undef OL_TRAIT
	};
	const char *comma = "";

	printf("\"traits\": [");
	for (unsigned bit = 0; bit < sizeof(names) / sizeof(*names); bit++) {
		if (!(set & 1u << bit))
			continue;
		printf("%s\"", comma);
		for (const char *c = names[bit]; *c; c++)
			putchar(tolower((unsigned char)*c));
		putchar('"');
		comma = ", ";
	}
	printf("], ");
}

static void lock(const struct ol_lock_ops *l)
{
	printf("%s\n    {", separator);
	text("id", l->id, ", ");
	text("gives_up", l->timedlock ? "timed" : "waits", ", ");
	traits(l->traits);
	printf("\"size\": %" PRIu32 ", ", l->size);
	text("no_spinlock", spin_refusal(l->traits) ? spin_refusal(l->traits) : "", ", ");
	text("source", l->source, ", ");
	text("what", l->what, "}");
	separator = ",";
}

static void peer(const char *id, const char *family, const char *package, const char *source,
		 const char *what)
{
	printf("%s\n    {", separator);
	text("id", id, ", ");
	text("family", family, ", ");
	text("package", package, ", ");
	text("source", source, ", ");
	text("what", what, "}");
	separator = ",";
}

static void barrier(const char *id, bool simulated, const char *source, const char *what)
{
	printf("%s\n    {", separator);
	text("id", id, ", ");
	printf("\"simulated\": %s, ", simulated ? "true" : "false");
	text("source", source, ", ");
	text("what", what, "}");
	separator = ",";
}

/* A name that a lock had. */
static void alias(const char *name, const char *id)
{
	printf("%s\n    {", separator);
	text("name", name, ", ");
	text("id", id, "}");
	separator = ",";
}

/* A name and what it means: events, variables. */
static void entry(const char *name, const char *what)
{
	printf("%s\n    {", separator);
	text("name", name, ", ");
	text("what", what, "}");
	separator = ",";
}

static void tunable(const char *name, const char *unit, uint64_t preset, uint64_t least,
		    uint64_t most, const char *when, const char *source, const char *what)
{
	printf("%s\n    {", separator);
	text("name", name, ", ");
	text("unit", unit, ", ");
	printf("\"default\": %" PRIu64 ", \"least\": %" PRIu64 ", \"most\": %" PRIu64 ", ", preset,
	       least, most);
	text("when", when, ", ");
	text("source", source, ", ");
	text("what", what, "}");
	separator = ",";
}

/* Of `overlock run`. */
static void option(const char *name, const char *kind, const char *argument, const char *preset,
		   const char *variable, const char *what)
{
	printf("%s\n    {", separator);
	text("name", name, ", ");
	text("kind", kind, ", ");
	text("argument", argument, ", ");
	text("preset", preset, ", ");
	text("variable", variable, ", ");
	text("what", what, "}");
	separator = ",";
}

/* What the simulator can be told: sim/. */
static void cost(const char *name, double preset, const char *source, const char *what)
{
	printf("%s\n    {", separator);
	text("name", name, ", ");
	printf("\"preset\": %g, ", preset);
	text("source", source, ", ");
	text("what", what, "}");
	separator = ",";
}

static void setting(const char *host, const char *name, const char *unit, double preset,
		    const char *source, const char *what)
{
	printf("%s\n    {", separator);
	text("host", host, ", ");
	text("name", name, ", ");
	text("unit", unit, ", ");
	printf("\"preset\": %g, ", preset);
	text("source", source, ", ");
	text("what", what, "}");
	separator = ",";
}

static void param(const char *workload, const char *name, const char *unit, double preset,
		  double least, double most, const char *what)
{
	printf("%s\n    {", separator);
	text("workload", workload, ", ");
	text("name", name, ", ");
	text("unit", unit, ", ");
	printf("\"preset\": %.17g, \"least\": %.17g, \"most\": %.17g, ", preset, least, most);
	text("what", what, "}");
	separator = ",";
}

static void choice(const char *workload, const char *name, const char *choices, const char *what)
{
	printf("%s\n    {", separator);
	text("workload", workload, ", ");
	text("name", name, ", ");
	text("choices", choices, ", ");
	text("what", what, "}");
	separator = ",";
}

/* Where the counters are in a file of OVERLOCK_LIVE: site.h. */
static void live(void)
{
	printf(",\n  \"live\": {\"block\": %u, \"space\": %d, \"maps\": %d, \"used\": %zu, "
	       "\"first\": %zu, "
	       "\"record\": %zu, ",
	       OL_LIVE_BLOCK, OL_LIVE_SPACE, OL_LIVE_MAPS, OL_LIVE_USED, OL_LIVE_FIRST,
	       OL_LIVE_RECORD);
#define FIELD(name) offsetof(struct ol_site_record, name)
	printf("\"site\": %zu, \"events\": %zu, \"places\": %zu, ", FIELD(site), FIELD(events),
	       FIELD(places));
	printf("\"wait_ns\": %zu, \"spin_ns\": %zu, \"hold_ns\": %zu, \"handover_ns\": %zu, ",
	       FIELD(wait_ns), FIELD(spin_ns), FIELD(hold_ns), FIELD(handover_ns));
	printf("\"hold\": %zu, \"buckets\": %d}", FIELD(hold), OL_BUCKETS);
#undef FIELD
}

/* Where sites and threads are in a record of `overlock chaos`: record.h. */
static void chaos(void)
{
	printf(",\n  \"chaos\": {\"n_objects\": %zu, \"objects\": %zu, \"object\": %d, ",
	       offsetof(struct chaos_record, n_objects), offsetof(struct chaos_record, objects),
	       CHAOS_PATH);
	printf("\"most_objects\": %d, \"most_sites\": %d, \"most_threads\": %d, ", CHAOS_OBJECTS,
	       CHAOS_SITES, CHAOS_THREADS);
	printf("\"sites\": %zu, \"site\": %zu, \"threads\": %zu, \"thread\": %zu}",
	       offsetof(struct chaos_record, sites), sizeof(struct chaos_site),
	       offsetof(struct chaos_record, threads), sizeof(struct chaos_thread));
	printf(",\n  \"chaos_guest\": {\"ranges\": %zu, \"most_ranges\": %d, \"sites\": %zu, ",
	       offsetof(struct guest_record, ranges), GUEST_RANGES,
	       offsetof(struct guest_record, sites));
	printf("\"most_sites\": %d, \"bytes\": %zu}", GUEST_SITES, sizeof(struct guest_record));
}

/* Where tables are in a record of `overlock run --record`, and how large their rows: record.h. */
static void recorded(void)
{
	printf(",\n  \"record\": {");
#define TABLE(name, most)                                                                    \
	printf("\"%s\": [%zu, %zu, %d], ", #name, offsetof(struct record, name),             \
	       sizeof(((struct record *)0)->name[0]), most)
	TABLE(objects, RECORD_OBJECTS);
	TABLE(locks, RECORD_LOCKS);
	TABLE(sites, RECORD_SITES);
	TABLE(threads, RECORD_THREADS);
#undef TABLE
	printf("\"chunks\": [%zu, %zu, 0], \"chunk\": %d, ", offsetof(struct record, chunks),
	       sizeof(struct record_chunk), RECORD_CHUNK);
	printf("\"event\": %zu, \"unknown\": %d}", sizeof(struct record_event), RECORD_UNKNOWN);
}

static void list(const char *name)
{
	printf(",\n  \"%s\": [", name);
	separator = "";
}

int main(void)
{
	const char *package, *source; /* of the peers that follow */

	printf("{\n  \"abi\": %d,\n  \"version\": \"" OL_VERSION "\"", OL_ABI);
	list("locks");
	for (size_t i = 0; ol_locks[i]; i++)
		lock(ol_locks[i]);
	printf("\n  ]");
	list("aliases");
#define OL_ALIAS(old, id) alias(#old, #id);
#include <overlock/aliases.def>
#undef OL_ALIAS
	printf("\n  ]");
	list("peers");
#define PEER_FAMILY(family, its_package, its_source) package = its_package, source = its_source;
#define PEER(id, family, what)			     peer(#id, #family, package, source, what);
#include <peers.def>
	printf("\n  ]");
	list("barriers");
#define BARRIER(id, where, source, what) barrier(#id, strcmp(#where, "any") == 0, source, what);
#include <barriers.def>
	printf("\n  ]");
	list("events");
#define OL_EVENT(name, what) entry(#name, what);
#include <overlock/events.def>
	printf("\n  ]");
	list("tunables");
#define OL_TUNABLE(name, unit, preset, least, most, when, source, what) \
	tunable(#name, #unit, preset, least, most, #when, source, what);
#include <overlock/tunables.def>
	printf("\n  ]");
	list("variables");
#define OL_VARIABLE(name, what) entry("OVERLOCK_" #name, what);
#include <variables.def>
	printf("\n  ]");
	list("options");
#define OPTION(name, kind, argument, preset, variable, what) \
	option(#name, #kind, argument, preset, *variable ? "OVERLOCK_" variable : "", what);
#define PLAIN(name, kind, argument, preset, variable, brief, what) \
	OPTION(name, kind, argument, preset, variable, what)
#include <options.def>
	printf("\n  ]");
	list("costs");
#define COST(name, preset, source, what) cost(#name, preset, source, what);
#include <costs.def>
	printf("\n  ]");
	list("sources");
#define OL_SOURCE(name, when, facts, knows, cannot, cost) entry(#name, knows);
#include "knowledge.def"
	printf("\n  ]");
	list("hosts");
#define HOST(name, what) entry(#name, what);
#define SETTING(...)
#include <hosts.def>
#undef HOST
#undef SETTING
	printf("\n  ]");
	list("settings");
#define HOST(...)
#define SETTING(host, name, unit, preset, source, what) \
	setting(#host, #name, #unit, preset, source, what);
#include <hosts.def>
#undef HOST
#undef SETTING
	printf("\n  ]");
	list("features");
#define FEATURE(name, what) entry(#name, what);
#define SETTING(...)
#include <features.def>
#undef FEATURE
#undef SETTING
	printf("\n  ]");
	list("feature_settings");
#define FEATURE(...)
#define SETTING(feature, name, unit, preset, source, what) \
	setting(#feature, #name, #unit, preset, source, what);
#include <features.def>
	printf("\n  ]");
	list("guests");
#define GUEST(name, what) entry(#name, what);
#include <guests.def>
	printf("\n  ]");
#define OL_PORT_SIM /* without the workloads that no simulation has */
	list("workloads");
#define WORKLOAD(name, what) entry(#name, what);
#include <workloads.def>
	printf("\n  ]");
	list("params");
#define PARAM(workload, name, unit, preset, least, most, what) \
	param(#workload, #name, #unit, preset, least, most, what);
#define CHOICE(workload, name, choices, what) choice(#workload, #name, choices, what);
#include <params.def>
	printf("\n  ]");
	list("chaos_kinds");
#define CHAOS_KIND(name, what) entry(#name, what);
#include <chaos/kinds.def>
	printf("\n  ]");
	list("chaos_settings");
#define CHAOS_SETTING(name, what) entry("OVERLOCK_CHAOS_" #name, what);
#include <chaos/settings.def>
	printf("\n  ]");
	list("record_kinds");
#define RECORD_KIND(name, what) entry(#name, what);
#include <record/kinds.def>
	printf("\n  ]");
	recorded();
	chaos();
	live();
	printf("\n}\n");
	return fflush(stdout) || ferror(stdout);
}
