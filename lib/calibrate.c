/* SPDX-License-Identifier: MIT */
/*
 * How long a tick is on this machine, and what a pause and a yield cost.
 *
 * Every program under `overlock run` waits for this at its start, a compiler's thousand children too,
 * so a tick is measured over a short span there, and again by the first conversion that comes when
 * the process is old enough to know better. Costs are measured when asked for.
 */
#include "internal.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/*
 * The two ends of a span are each known to about 20 ns: a tick is good to some two parts in a thousand
 * at start, which is plenty for tunables, and later to four in a million.
 */
#define SPAN_NS	     20000u
#define LONG_SPAN_NS 10000000u
#define TOLERANCE    0.05 /* of the first length, for the second: emulated, a look takes longer */

/* Fixed point, 32 bits after the point. Until calibrated a tick is a nanosecond. */
static uint64_t ticks_per_ns = 1ull << 32, ns_per_tick = 1ull << 32;

static uint64_t scale(uint64_t n, uint64_t factor)
{
	unsigned __int128 product = (unsigned __int128)n * factor + (1u << 31);

	if (n == OL_NEVER || product >> 32 >= OL_NEVER)
		return OL_NEVER;
	return (uint64_t)(product >> 32);
}

/* Relaxed: either of two lengths of a tick will do, and nothing else is told by them. */
static void set_tick(double tick_ns)
{
	ol_store_relaxed(&ns_per_tick, (uint64_t)(tick_ns * 0x1p32 + 0.5));
	ol_store_relaxed(&ticks_per_ns, (uint64_t)(0x1p32 / tick_ns + 0.5));
}

#if defined(__x86_64__)
/* A kernel that fell back to one of these has caught the time stamp counter lying. */
static bool kernel_distrusts_tsc(void)
{
	static const char *const slow[] = { "hpet", "acpi_pm", "jiffies", "refined-jiffies",
					    "pit" };
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);
	char name[32] = "";
	ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof(name) - 1);

	if (fd >= 0)
		close(fd);
	name[n > 0 ? n : 0] = 0;
	name[strcspn(name, "\n")] = 0;
	for (size_t i = 0; i < sizeof(slow) / sizeof(*slow); i++)
		if (!strcmp(name, slow[i]))
			return true;
	return false;
}

/* Ticks at the same rate in every state, on every CPU: CPUID 80000007h, EDX bit 8. */
static bool counter_is_steady(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) && !kernel_distrusts_tsc();
}

/* Advertised, and seen to commit: microcode may make every transaction abort. */
static bool transactions_commit(struct ol_world *world)
{
	unsigned a, b, c, d;

	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1u << 11))
		return false;
	world->htm = 1; /* ol_htm_begin() looks here */
	for (int tries = 0; tries < 64; tries++) {
		if (ol_htm_begin() == OL_HTM_STARTED) {
			ol_htm_commit();
			return true;
		}
	}
	return false;
}

/* At the start, the counter and the clock at one instant: of several tries, the one that took least. */
struct instant {
	uint64_t ticks, ns;
};

static struct instant look(void)
{
	struct instant best = { 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int tries = 0; tries < 8; tries++) {
		uint64_t before = ol_counter(), ns = ol_clock();
		uint64_t took = ol_counter() - before;

		if (took < least) {
			least = took;
			best = (struct instant){ before + took / 2, ns };
		}
	}
	return best;
}

static struct instant first;
static uint32_t is_coarse;

static double tick_since_first(struct instant now)
{
	return (double)(now.ns - first.ns) / (double)(now.ticks - first.ticks);
}

static void measure_tick(void)
{
	struct instant last;

	first = look();
	while (ol_clock() - first.ns < SPAN_NS)
		ol_relax();
	last = look();
	set_tick(tick_since_first(last));
	ol_store_release(&is_coarse, 1u); /* after `first` */
}

/*
 * By one thread, once. A counter that ran on while the machine slept, or that of another machine since,
 * would tell a wrong length: then the first stays.
 */
static OL_COLD void measure_tick_again(void)
{
	struct instant now = look();
	double before, tick;

	/* The CAS only elects one thread: the caller has already acquired `first`. */
	if (now.ns - first.ns < LONG_SPAN_NS || !ol_cas_relaxed(&is_coarse, 1u, 0u))
		return;
	before = (double)ol_load_relaxed(&ns_per_tick) * 0x1p-32;
	tick = tick_since_first(now);
	if (tick > before * (1 - TOLERANCE) && tick < before * (1 + TOLERANCE))
		set_tick(tick);
}
#else
static uint32_t is_coarse;

static void measure_tick_again(void)
{
}
#endif

/* The least of a few rounds: interruptions only add time. */
static double cost_ns(void (*repeat)(int n), int n)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < 5; round++) {
		uint64_t since = ol_clock(), took;

		repeat(n);
		took = ol_clock() - since;
		if (took < least)
			least = took;
	}
	return (double)least / n;
}

static void relax(int n)
{
	while (n--)
		ol_relax();
}

static void yield(int n)
{
	while (n--)
		sched_yield();
}

static void tick_to_date(void)
{
	if (OL_UNLIKELY(ol_load_acquire(&is_coarse))) /* `first` is there */
		measure_tick_again();
}

uint64_t ol_ticks_from_ns(uint64_t ns)
{
	tick_to_date();
	return scale(ns, ol_load_relaxed(&ticks_per_ns));
}

uint64_t ol_ns_from_ticks(ol_ticks_t ticks)
{
	tick_to_date();
	return scale(ticks, ol_load_relaxed(&ns_per_tick));
}

/*
 * The counter against the clock. Both have run in step since `origin_ns`, but for a `lead` of the counter's
 * that changes by no more than their rates differ. What differs by more since the last comparison is not the
 * clock: then `shift` makes the counter's time go on where the clock says.
 *
 * Any thread compares, at any time, without a lock that another could wait for. All is relaxed: a thread that reads a
 * `shift` and a `from` that do not belong together finds itself outside of the span, and compares.
 */
#define SPAN_TICKS_NS 2000000u /* around the last comparison */
#define SLACK_NS      100000u  /* between readings of the counter and of the clock */
#define RATES	      64	   /* the first length of a tick is good to one part in so many */

static struct {
	struct ol_world *world;
	uint64_t origin_ns, ticks_per_ns; /* never changed, so that `lead` keeps its meaning */
	uint64_t lead;
	uint64_t slack;
} compared;

struct pair {
	ol_ticks_t counter, clock; /* the clock's time in ticks, since the origin */
	uint64_t shift;
};

/* Both at one instant: a thread preempted between the two reads them again. */
static bool look_at_both(struct pair *p)
{
	uint64_t ns, took;
	int tries = 0;

	do {
		p->shift = ol_load_relaxed(&compared.world->shift);
		ns = ol_clock();
		p->counter = ol_load_relaxed(&compared.world->tsc) ? ol_counter() + p->shift : 0;
		took = ol_clock() - ns;
	} while (took > SLACK_NS / 2 && ++tries < 4);
	p->clock = scale(ns - compared.origin_ns, compared.ticks_per_ns);
	return took <= SLACK_NS / 2;
}

static ol_ticks_t distance(ol_ticks_t a, ol_ticks_t b)
{
	return (int64_t)(a - b) < 0 ? b - a : a - b;
}

static ol_ticks_t begin_span(ol_ticks_t now)
{
	ol_store_relaxed(&compared.world->from, now - compared.world->span / 2);
	return now;
}

ol_ticks_t ol_now_by_clock(void)
{
	uint64_t lead, last;
	ol_ticks_t expected;
	struct pair now;
	bool at_once;

	if (!compared.world)
		return ol_clock();
	lead = ol_load_relaxed(&compared.lead);
	last = ol_load_relaxed(&compared.world->from) + compared.world->span / 2;
	at_once = look_at_both(&now);
	expected = now.clock + lead;
	if (!at_once || !ol_load_relaxed(&compared.world->tsc))
		return expected;
	if (distance(now.counter, expected) <= compared.slack + distance(expected, last) / RATES) {
		ol_cas_relaxed(&compared.lead, lead, now.counter - now.clock);
		return begin_span(now.counter);
	}
	/* Else another thread was faster. */
	ol_cas_relaxed(&compared.world->shift, now.shift, now.shift + expected - now.counter);
	return begin_span(expected);
}

/* With the first length of a tick. */
static void compare_from_now(struct ol_world *world)
{
	uint64_t ns = ol_clock();

	compared.origin_ns = ns;
	compared.ticks_per_ns = ol_load_relaxed(&ticks_per_ns);
	compared.lead = ol_counter();
	compared.slack = scale(SLACK_NS, compared.ticks_per_ns);
	world->span = scale(SPAN_TICKS_NS, compared.ticks_per_ns);
	world->from = compared.lead - world->span / 2;
	compared.world = world;
	ol_store_relaxed(&world->tsc, 1u);
}

/* Ticks go on as they were, by the clock alone. */
void ol_counter_traps(void)
{
	ol_clock_by_system_call();
	ol_store_relaxed(&is_coarse, 0u); /* the first length of a tick stays */
	if (compared.world)
		ol_store_relaxed(&compared.world->tsc, 0u);
}

static struct ol_calibration calibration;

static void measure_costs(void)
{
	tick_to_date();
	calibration.tick_ns = (double)ol_load_relaxed(&ns_per_tick) * 0x1p-32;
	calibration.relax_ns = cost_ns(relax, 200);
	calibration.yield_ns = cost_ns(yield, 20);
}

const struct ol_calibration *ol_calibration(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, measure_costs);
	return &calibration;
}

void ol_calibrate(struct ol_world *world)
{
	const bool may_count = ol_clock_start();
	uint64_t since = ol_clock();
#if defined(__x86_64__)
	world->htm = transactions_commit(world);
	if (may_count && counter_is_steady()) {
		measure_tick();
		compare_from_now(world);
	}
#elif defined(__aarch64__)
	uint64_t hz;

	/* The architecture's timer says its own rate, and is the same on every CPU. */
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	if (hz) {
		set_tick(1e9 / (double)hz);
		compare_from_now(world);
	}
#endif
	(void)may_count;
	calibration.tsc = world->tsc;
	calibration.took_ns = ol_clock() - since;
}
