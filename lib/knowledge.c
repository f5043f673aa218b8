/* SPDX-License-Identifier: MIT */
/*
 * What this process can find out about being preempted.
 *
 * rseq(2) tells that we were off the CPU. A thread may point its `rseq_cs` at a critical section,
 * and the kernel clears the pointer whenever it preempts, migrates or signals the thread outside
 * that section. Ours is never executed, so a pointer that is gone means "you have been away since
 * you last looked", at the price of a load.
 *
 * sched_getattr(2) tells (Linux 6.12 and later) for how long the scheduler means to let a thread
 * run. Together: a slice began no later than when we first saw that it is a new one, and ends that
 * much later. An estimate: a waking thread may preempt us earlier, and where nobody else wants the
 * CPU nothing happens at its end.
 */
#include "internal.h"
#include "slices.h"
#ifdef OL_COUNTED
#include "counting.h"
#endif

#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<sys/rseq.h>) /* glibc 2.35 */
#include <sys/rseq.h>

extern const ptrdiff_t __rseq_offset __attribute__((weak)); /* may run with an older one */
extern const unsigned int __rseq_size __attribute__((weak));

#if defined(__x86_64__)
#define OL_RSEQ_TRAP	"ud2"
#define OL_RSEQ_BYTES	2
/* The signature is the operand of a trapping instruction. */
#define OL_RSEQ_MARK	".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053"
#elif defined(__aarch64__)
#define OL_RSEQ_TRAP	"brk #0"
#define OL_RSEQ_BYTES	4
#define OL_RSEQ_MARK	".inst 0xd428bc00"
#endif
#endif

#ifdef OL_RSEQ_TRAP
extern const char ol_rseq_never[] __attribute__((visibility("hidden")));
extern const char ol_rseq_abort[] __attribute__((visibility("hidden")));

/* The section nobody enters, and where the kernel would send who is caught in it. */
__asm__(".pushsection .text\n\t"
	".balign 4\n\t"
	".hidden ol_rseq_never\n\t"
	".globl ol_rseq_never\n"
	"ol_rseq_never:\n\t" OL_RSEQ_TRAP "\n\t" OL_RSEQ_MARK "\n\t"
	".hidden ol_rseq_abort\n\t"
	".globl ol_rseq_abort\n"
	"ol_rseq_abort:\n\t" OL_RSEQ_TRAP "\n\t"
	".popsection");

static struct rseq_cs never;
#endif

static OL_THREAD_LOCAL struct {
	uint64_t id;
	ol_ticks_t since;
} slice;

static bool rseq_works;
static ol_ticks_t slice_length; /* 0 unknown */

#ifdef OL_RSEQ_TRAP
static struct rseq *registered(void)
{
	char *thread;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(thread));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
	return (struct rseq *)(void *)(thread + __rseq_offset);
}

/* glibc leaves the size 0 when the kernel refused it, or the administrator did. */
static bool rseq_start(void)
{
	if (!&__rseq_offset || !&__rseq_size || !__rseq_size)
		return false;
	never.start_ip = (uintptr_t)ol_rseq_never;
	never.post_commit_offset = OL_RSEQ_BYTES;
	never.abort_ip = (uintptr_t)ol_rseq_abort;
	return true;
}

/*
 * The mark first: if we are preempted before the clock is read the mark is gone again, and the
 * next look begins yet another slice. Somebody else's section in its place tells nothing, so it
 * counts as having been away.
 */
static void look(void)
{
	struct rseq *r = registered();

	if (__atomic_load_n(&r->rseq_cs, __ATOMIC_RELAXED) == (uintptr_t)&never)
		return;
	__atomic_store_n(&r->rseq_cs, (uintptr_t)&never, __ATOMIC_RELAXED);
	slice.id++;
	slice.since = ol_now();
#ifdef OL_COUNTED
	ol_counting.slice = slice.id;
#endif
}
#else
static bool rseq_start(void)
{
	return false;
}

static void look(void)
{
}
#endif

uint64_t ol_slice_id(void)
{
	uint64_t id;

	if (ol_slices_id(&id))
		return id;
	if (rseq_works)
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

	ol_counting.slice_word = &unknown;
	ol_counting.slice_mark = unknown;
#ifdef OL_RSEQ_TRAP
	if (rseq_works) {
		ol_counting.slice_word = (const uint64_t *)&registered()->rseq_cs;
		ol_counting.slice_mark = (uintptr_t)&never;
	}
#endif
}

bool ol_sites_know_slices(void)
{
	return rseq_works;
}
#endif

/* A thread that still runs at the end has been given another slice: no other wants the CPU. */
ol_ticks_t ol_slice_end(void)
{
	ol_ticks_t over;

	if (ol_slices_end(&over))
		return over;
	if (!rseq_works || !slice_length)
		return OL_NEVER;
	look();
	over = (ol_now() - slice.since) / slice_length;
	return slice.since + (over + 1) * slice_length;
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

#ifndef PR_RSEQ_SLICE_EXTENSION
#define PR_RSEQ_SLICE_EXTENSION		79
#define PR_RSEQ_SLICE_EXTENSION_GET	1
#endif

static bool kernel_can_defer(void)
{
	return prctl(PR_RSEQ_SLICE_EXTENSION, PR_RSEQ_SLICE_EXTENSION_GET, 0, 0, 0) >= 0;
}

static struct ol_source sources[] = {
	{ "rseq", "slice_id: changes when the thread was preempted, migrated or signalled", false },
	{ "sched_getattr",
	  "slice_end: an estimate, one scheduler slice after the thread's first look", false },
	{ "rseq slice extension",
	  "defer: asks for a short delay of preemption; detected, not yet used", false },
	{ "overlock sched",
	  "slice_id, slice_end, slice_min, is_preempted, defer, yield_to: the scheduler's word",
	  false },
	{ 0, 0, false },
};

const struct ol_source *ol_sources(void)
{
	return sources;
}

void ol_knowledge_start(void)
{
	rseq_works = rseq_start();
	slice_length = ol_ticks_from_ns(scheduler_slice_ns());
	sources[0].available = rseq_works;
	sources[1].available = rseq_works && slice_length;
	sources[2].available = kernel_can_defer();
	sources[3].available = ol_slices_start();
}

/* Nobody here knows these. */

ol_ticks_t ol_quota_end(void)
{
	return OL_NEVER;
}

bool ol_cpu_idle(void)
{
	return false;
}
