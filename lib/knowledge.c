/* SPDX-License-Identifier: MIT */
/*
 * What this process can find out about being preempted, and by which of the sources of knowledge.def.
 *
 * Without a page that tells: a slice began no later than when we first saw that it is a new one (rseq), and
 * ends when a slice's time has passed, by the scheduler's word (sched_getattr, Linux 6.12 and later) or by
 * how long the thread's slices lasted before. An estimate: a waking thread may preempt us earlier, and where
 * nobody else wants the CPU nothing happens at its end.
 */
#include "internal.h"
#include "quota.h"
#include "rseq.h"
#include "slices.h"
#ifdef OL_COUNTED
#include "counting.h"
#endif

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum fact {
#define OL_FACT(name, what) FACT_##name,
#include "knowledge.def"
	FACTS
};

enum source {
#define OL_SOURCE(name, ...) SOURCE_##name,
#include "knowledge.def"
	SOURCES
};

enum {
#define USUAL(bit)	   (bit)
#define NAMED(bit)	   0
#define OL_SOURCE(name, when, ...) when(1 << SOURCE_##name) |
	WHEN_USUAL =
#include "knowledge.def"
		0,
	ALL = (1 << SOURCES) - 1,
};

static OL_THREAD_LOCAL struct {
	uint64_t id;
	ol_ticks_t since, looked;
	ol_ticks_t usual;  /* length of those before; 0 unknown */
	uint64_t switches; /* by the kernel's count */
} slice;

/* Which sources may be asked, and what they say of this process. */
static struct {
	uint32_t chosen;
	ol_ticks_t length; /* of a slice; 0 unknown */
	bool sched, monitor, rseq, extension, quota, history, rusage;
} use = { .chosen = WHEN_USUAL };

static void begin_slice(void)
{
	ol_ticks_t now = ol_now(), lasted = slice.looked - slice.since;

	if (slice.id && lasted)
		slice.usual = slice.usual ? slice.usual - slice.usual / 8 + lasted / 8 : lasted;
	slice.id++;
	slice.since = slice.looked = now;
#ifdef OL_COUNTED
	ol_counting.slice = slice.id;
#endif
}

static bool switched(void)
{
	struct rusage r;
	uint64_t n;

	if (getrusage(RUSAGE_THREAD, &r))
		return false;
	n = (uint64_t)r.ru_nvcsw + (uint64_t)r.ru_nivcsw + 1;
	if (n == slice.switches)
		return false;
	slice.switches = n;
	return true;
}

/*
 * The mark of rseq comes before the clock: if we are preempted between the two the mark is gone again, and
 * the next look begins yet another slice.
 */
static void look(void)
{
	if (use.rseq ? ol_rseq_was_away() : use.rusage && switched())
		begin_slice();
}

void ol_slice_note_away(void)
{
	if (use.rseq)
		ol_rseq_note_away();
}

uint64_t ol_slice_id(void)
{
	uint64_t id;

	if (ol_slices_id(&id))
		return id;
	look();
	return slice.id;
}

#ifdef OL_COUNTED
uint64_t ol_slice_look(void)
{
	return ol_slice_id();
}

/* Where a thread sees for itself that its slice goes on; a word that never changes if nobody knows. */
void ol_slice_watch(void)
{
	static const uint64_t unknown = 0;
	const uint64_t *word = use.rseq ? ol_rseq_word(&ol_counting.slice_mark) : 0;

	ol_counting.slice_word = word ? word : &unknown;
	if (!word)
		ol_counting.slice_mark = unknown;
}

bool ol_sites_know_slices(void)
{
	return use.rseq;
}
#endif

/* A thread that still runs at the end has been given another slice: no other wants the CPU. */
static ol_ticks_t estimated_end(void)
{
	ol_ticks_t length, over;

	if (!use.rseq && !use.rusage)
		return OL_NEVER;
	look();
	slice.looked = ol_now();
	length = use.length ? use.length : use.history ? slice.usual : 0;
	if (!length)
		return OL_NEVER;
	over = (slice.looked - slice.since) / length;
	return slice.since + (over + 1) * length;
}

/* A quota that runs out ends the slice, whatever the scheduler meant. */
ol_ticks_t ol_slice_end(void)
{
	ol_ticks_t end;

	if (!ol_slices_end(&end))
		end = estimated_end();
	return OL_UNLIKELY(use.quota) ? ol_earlier(end, ol_quota_ends()) : end;
}

ol_ticks_t ol_quota_end(void)
{
	return OL_UNLIKELY(use.quota) ? ol_quota_ends() : OL_NEVER;
}

void ol_defer_begin(void)
{
	if (!ol_slices_defer_begin() && use.extension)
		ol_rseq_defer_begin();
}

void ol_defer_end(void)
{
	ol_slices_defer_end();
	if (use.extension)
		ol_rseq_defer_end();
}

/* By the last waits in the queue; a handler that comes between costs one of them its weight. */
static OL_THREAD_LOCAL ol_ticks_t csd;

void ol_csd_learn(ol_ticks_t since, unsigned n)
{
	ol_ticks_t each = (ol_now() - since) / (n ? n : 1);

	csd = csd ? csd - csd / 8 + each / 8 : each;
}

ol_ticks_t ol_csd(void)
{
	return csd;
}

struct ol_crowd *ol_crowd(void)
{
	static OL_THREAD_LOCAL struct ol_crowd crowd;

	return &crowd;
}

/* The first version of the kernel's structure is enough; libc has no wrapper for the call. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static uint64_t scheduler_slice_ns(void)
{
	struct attributes a = { .size = sizeof(a) };

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0))
		return 0;
	return a.runtime_ns;
}

/* The sources, and which of them are used. */

#define OL_BIT(fact) (1u << FACT_##fact)

static const uint32_t facts_of[] = {
#define OL_SOURCE(name, when, facts, ...) (facts),
#include "knowledge.def"
};

static struct ol_source sources[] = {
#define OL_SOURCE(name, when, facts, knows, ...) { #name, knows, false },
#include "knowledge.def"
	{ 0, 0, false },
};

static bool chosen(enum source source)
{
	return use.chosen & 1u << source;
}

static bool works(enum source source)
{
	const bool knows_slices = use.rseq || use.rusage;
	const bool works[] = {
		[SOURCE_sched] = use.sched && ol_slices_told(),
		[SOURCE_monitor] = use.monitor && ol_slices_told(),
		[SOURCE_rseq] = use.rseq,
		[SOURCE_extension] = use.extension,
		[SOURCE_quota] = use.quota,
		[SOURCE_getattr] = use.length && knows_slices,
		[SOURCE_history] = use.history && knows_slices,
		[SOURCE_rusage] = use.rusage,
	};

	return works[source];
}

const struct ol_source *ol_sources(void)
{
	for (unsigned i = 0; i < SOURCES; i++)
		sources[i].available = works(i);
	return sources;
}

const char *ol_source_of(const char *fact)
{
	static const char *const facts[] = {
#define OL_FACT(name, what) #name,
#include "knowledge.def"
	};
	unsigned f = 0;

	while (f < FACTS && strcmp(facts[f], fact) != 0)
		f++;
	for (unsigned i = 0; f < FACTS && i < SOURCES; i++)
		if (facts_of[i] & 1u << f && works(i))
			return sources[i].name;
	return 0;
}

static void open_pages(void)
{
	const enum ol_teller teller = ol_slices_start(chosen(SOURCE_sched), chosen(SOURCE_monitor));

	use.sched = teller == OL_SCHEDULER_TELLS;
	use.monitor = teller == OL_MONITOR_TELLS;
}

void ol_knowledge_renew(void)
{
	ol_quota_renew();
	open_pages();
}

/* The extension needs the word that rseq is registered with, if only for its address. */
static void use_chosen(void)
{
	const bool registered = ol_rseq_start();

	use.rseq = chosen(SOURCE_rseq) && registered;
	use.extension = chosen(SOURCE_extension) && registered && ol_rseq_can_defer();
	use.rusage = chosen(SOURCE_rusage) && !use.rseq;
	use.history = chosen(SOURCE_history);
	use.length = chosen(SOURCE_getattr) ? ol_ticks_from_ns(scheduler_slice_ns()) : 0;
	use.quota = chosen(SOURCE_quota) && ol_quota_start();
	open_pages();
}

static const char expected[] = "expected names, with commas between them, of: none usual all"
#define OL_SOURCE(name, ...) " " #name
#include "knowledge.def"
	;

static bool is(const char *name, size_t n, const char *word)
{
	return strlen(word) == n && !strncmp(name, word, n);
}

/* All bits: nobody has that name. */
static uint32_t bits_of(const char *name, size_t n)
{
	if (is(name, n, "none"))
		return 0;
	if (is(name, n, "usual"))
		return WHEN_USUAL;
	if (is(name, n, "all"))
		return ALL;
	for (unsigned i = 0; i < SOURCES; i++)
		if (is(name, n, sources[i].name))
			return 1u << i;
	return ~0u;
}

const char *ol_knowledge_choose(const char *list)
{
	uint32_t bits = 0;

	for (size_t n; *list; list += n + (list[n] == ',')) {
		uint32_t more;

		n = strcspn(list, ",");
		more = bits_of(list, n);
		if (more == ~0u)
			return expected;
		bits |= more;
	}
	use.chosen = bits;
	use_chosen();
	return 0;
}

void ol_knowledge_start(void)
{
	const char *list = secure_getenv("OVERLOCK_KNOWLEDGE");
	const char *wrong = list && *list ? ol_knowledge_choose(list) : 0;

	if (wrong)
		fprintf(stderr, "overlock: OVERLOCK_KNOWLEDGE=%s ignored: %s\n", list, wrong);
	if (!list || !*list || wrong)
		use_chosen();
}

uint32_t ol_cpu(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (uint32_t)cpu;
}
