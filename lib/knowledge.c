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

enum { ALL = (1 << SOURCES) - 1 };

static OL_THREAD_LOCAL struct {
	uint64_t id;
	ol_ticks_t since, looked;
	ol_ticks_t usual;  /* length of those before; 0 unknown */
	uint64_t switches; /* by the kernel's count */
} slice;

/* Which sources may be asked, and what they say of this process. */
static struct {
	uint32_t chosen;
	uint32_t quota;	   /* one of the following */
	ol_ticks_t length; /* of a slice; 0 unknown */
	bool rseq, rusage, history, extension;
} use = { .chosen = ALL };

enum { NOT_SOUGHT, FOUND, ABSENT };

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
	length = use.length ? use.length : use.history ? slice.usual : 0;
	if (!length)
		return OL_NEVER;
	slice.looked = ol_now();
	over = (slice.looked - slice.since) / length;
	return slice.since + (over + 1) * length;
}

/* A quota that runs out ends the slice, whatever the scheduler meant. */
ol_ticks_t ol_slice_end(void)
{
	ol_ticks_t end;

	if (!ol_slices_end(&end))
		end = estimated_end();
	return OL_UNLIKELY(use.quota != ABSENT) ? ol_earlier(end, ol_quota_end()) : end;
}

/* Looked for when somebody first asks: most programs never do. */
static bool has_quota(void)
{
	uint32_t state = ol_load_relaxed(&use.quota);

	if (OL_UNLIKELY(state == NOT_SOUGHT)) {
		state = ol_quota_start() ? FOUND : ABSENT;
		ol_store_relaxed(&use.quota, state);
	}
	return state == FOUND;
}

ol_ticks_t ol_quota_end(void)
{
	return has_quota() ? ol_quota_ends() : OL_NEVER;
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
#define OL_SOURCE(name, facts, ...) (facts),
#include "knowledge.def"
};

static struct ol_source sources[] = {
#define OL_SOURCE(name, facts, knows, ...) { #name, knows, false },
#include "knowledge.def"
	{ 0, 0, false },
};

static bool chosen(enum source source)
{
	return use.chosen & 1u << source;
}

static bool works(enum source source)
{
	switch (source) {
	case SOURCE_sched:
	case SOURCE_monitor:
		return ol_slices_from() == (source == SOURCE_sched ? OL_FROM_SCHED : OL_FROM_MONITOR);
	case SOURCE_quota:
		return has_quota();
	case SOURCE_getattr:
		return use.length && (use.rseq || use.rusage);
	case SOURCE_history:
		return use.history && (use.rseq || use.rusage);
	case SOURCE_rseq:
		return use.rseq;
	case SOURCE_extension:
		return use.extension;
	case SOURCE_rusage:
		return chosen(source);
	default:
		return false;
	}
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

	while (f < FACTS && strcmp(facts[f], fact))
		f++;
	for (unsigned i = 0; f < FACTS && i < SOURCES; i++)
		if (facts_of[i] & 1u << f && works(i))
			return sources[i].name;
	return 0;
}

/* The page again too: in the child of a fork it is another one. */
void ol_knowledge_pages(void)
{
	ol_slices_start((chosen(SOURCE_sched) ? OL_FROM_SCHED : 0) |
			(chosen(SOURCE_monitor) ? OL_FROM_MONITOR : 0));
}

static void use_chosen(void)
{
	use.rseq = chosen(SOURCE_rseq) && ol_rseq_start();
	use.rusage = chosen(SOURCE_rusage) && !use.rseq;
	use.history = chosen(SOURCE_history);
	use.length = chosen(SOURCE_getattr) ? ol_ticks_from_ns(scheduler_slice_ns()) : 0;
	use.extension = chosen(SOURCE_extension) && ol_rseq_can_defer();
	ol_store_relaxed(&use.quota, (uint32_t)(chosen(SOURCE_quota) ? NOT_SOUGHT : ABSENT));
	ol_knowledge_pages();
}

static const char expected[] = "expected `none`, `all`, or a list with commas of:"
#define OL_SOURCE(name, ...) " " #name
#include "knowledge.def"
	;

static uint32_t bit_of(const char *name, size_t n)
{
	if (!n || (n == 4 && !strncmp(name, "none", n)))
		return 0;
	if (n == 3 && !strncmp(name, "all", n))
		return ALL;
	for (unsigned i = 0; i < SOURCES; i++)
		if (strlen(sources[i].name) == n && !strncmp(sources[i].name, name, n))
			return 1u << i;
	return ~0u;
}

const char *ol_knowledge_choose(const char *list)
{
	uint32_t bits = 0;

	for (size_t n; *list; list += n + (list[n] == ',')) {
		uint32_t bit;

		n = strcspn(list, ",");
		bit = bit_of(list, n);
		if (bit == ~0u)
			return expected;
		bits |= bit;
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

/* Nobody here knows. */
bool ol_cpu_idle(void)
{
	return false;
}
