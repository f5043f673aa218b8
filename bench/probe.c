/* SPDX-License-Identifier: MIT */
/*
 * overlock-probe: what only a program can find out about a machine, for `overlock doctor`.
 *
 * One JSON object per line, a part each, written as soon as it is known: a sandbox may kill who
 * asks for what it forbids, and the parts before then stay good. What is most likely to be
 * forbidden comes last. Changes nothing but itself. Takes a tenth of a second, some where CPUs are
 * short.
 */
#define _GNU_SOURCE
#include "sched_attr.h"
#include "../lib/internal.h"
#include "../lib/rseq.h"
#include <overlock/ops.h>

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#define SPAN_NS		50000000u   /* in which two threads play */
#define TSC_SPAN_NS	2000000u    /* in which they compare two CPUs' counters */
#define MOST_CPUS	8192	    /* that Linux on x86-64 can be built for */
#ifndef MOST_NS
#define MOST_NS 1000000000u /* where CPUs are short and they seldom run */
#endif

static void part(const char *name)
{
	printf("{\"part\":\"%s\"", name);
}

static void end_part(void)
{
	puts("}");
	fflush(stdout);
}

static void put_bool(const char *name, bool value)
{
	printf(",\"%s\":%s", name, value ? "true" : "false");
}

/* 0, or the error number of what was tried. */
static void put_error(const char *name, bool failed)
{
	printf(",\"%s\":%d", name, failed ? errno : 0);
}

static void put_text(const char *name, const char *s, size_t length)
{
	if (name)
		printf(",\"%s\":", name);
	putchar('"');
	for (; length-- && *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

/* The processor, and the hypervisor as it presents itself to CPUID. */

#if defined(__x86_64__)
struct leaf {
	unsigned a, b, c, d;
};

static struct leaf cpuid(unsigned leaf, unsigned subleaf)
{
	struct leaf l = { 0 };

	if (leaf >= 0x40000000 && leaf < 0x80000000) /* outside what __get_cpuid() knows to exist */
		__cpuid_count(leaf, subleaf, l.a, l.b, l.c, l.d);
	else
		__get_cpuid_count(leaf, subleaf, &l.a, &l.b, &l.c, &l.d);
	return l;
}

/* "KVMKVMKVM" */
#define KVM_FIRST	0x4b4d564bu
#define KVM_SECOND	0x564b4d56u

static void put_hypervisor(void)
{
	struct leaf base = cpuid(0x40000000, 0);
	char name[13] = "";

	memcpy(name, &base.b, 4);
	memcpy(name + 4, &base.c, 4);
	memcpy(name + 8, &base.d, 4);
	put_text("hypervisor_vendor", name, 12);
	/* KVM may stand behind another interface, 100h further on, as the kernel looks for it. */
	for (unsigned at = 0x40000000; at < 0x40010000; at += 0x100) {
		struct leaf l = cpuid(at, 0), features = cpuid(at + 1, 0);

		if (l.b == KVM_FIRST && l.c == KVM_SECOND) {
			printf(",\"kvm_features\":%u,\"kvm_hints\":%u", features.a, features.d);
			return;
		}
	}
}

static void put_cpu(void)
{
	struct leaf basic = cpuid(1, 0), extended = cpuid(7, 0), power = cpuid(0x80000007, 0);

	put_bool("invariant_tsc", power.d & 1u << 8);
	put_bool("rtm", extended.b & 1u << 11);
	put_bool("hle", extended.b & 1u << 4);
	put_bool("rtm_always_abort", extended.d & 1u << 11);
	put_bool("waitpkg", extended.c & 1u << 5);
	put_bool("hypervisor", basic.c & 1u << 31);
	if (basic.c & 1u << 31)
		put_hypervisor();
}
#else
static void put_cpu(void)
{
}
#endif

static void report_cpu(void)
{
	part("cpu");
	put_cpu();
	put_bool("transactions_commit", ol_world->htm); /* tried by the library at its start */
	end_part();
}

/* What locks with time bounds pay for a look at it: the least, as we may be preempted meanwhile. */
static double clock_ns(void)
{
	enum { TRIES = 20, LOOKS = 500 };
	uint64_t least = UINT64_MAX;

	for (int try = 0; try < TRIES; try++) {
		uint64_t since = ol_clock(), took;

		for (int i = 0; i < LOOKS; i++)
			(void)ol_now();
		took = ol_clock() - since;
		least = took < least ? took : least;
	}
	return (double)least / LOOKS;
}

static void report_costs(void)
{
	const struct ol_calibration *c = ol_calibration();

	part("costs");
	printf(",\"pause_ns\":%.3f,\"yield_ns\":%.3f,\"tick_ns\":%.6f,\"clock_ns\":%.3f",
	       c->relax_ns, c->yield_ns, c->tick_ns, clock_ns());
	put_bool("tsc", c->tsc);
	end_part();
}

/* In the order of ol_sources(). */
static const struct {
	const char *cannot, *cost;
	bool usual;
} more_of_sources[] = {
#define USUAL true
#define NAMED false
#define OL_SOURCE(name, when, facts, knows, cannot, cost) { cannot, cost, when },
#include "../lib/knowledge.def"
};

static void report_sources(void)
{
	const struct ol_source *all = ol_sources();
	const char *between = "";

	part("sources");
	printf(",\"list\":[");
	for (const struct ol_source *s = all; s->name; s++, between = ",") {
		printf("%s{\"name\":", between);
		put_text(0, s->name, strlen(s->name));
		put_text("knows", s->knows, strlen(s->knows));
		put_text("cannot", more_of_sources[s - all].cannot,
			 strlen(more_of_sources[s - all].cannot));
		put_text("cost", more_of_sources[s - all].cost,
			 strlen(more_of_sources[s - all].cost));
		put_bool("usual", more_of_sources[s - all].usual);
		put_bool("available", s->available);
		putchar('}');
	}
	putchar(']');
	end_part();
}

/* What a lock pays for asking, by each source alone, beside the call; the least, as in clock_ns(). */
static void ask_slice_id(void)
{
	(void)ol_slice_id();
}

static void ask_preempted(void)
{
	(void)ol_is_preempted(1);
}

static void ask_slice_end(void)
{
	(void)ol_slice_end();
}

static void ask_quota_end(void)
{
	(void)ol_quota_end();
}

static void ask_defer(void)
{
	ol_defer_begin();
	ol_defer_end();
}

static const struct {
	const char *source, *with, *fact; /* `with`: what it needs beside it */
	void (*ask)(void);
} asked[] = {
	{ "monitor", "monitor", "preempted", ask_preempted },
	{ "rseq", "rseq", "slice_id", ask_slice_id },
	{ "extension", "extension", "defer", ask_defer },
	{ "quota", "quota", "quota_end", ask_quota_end },
	{ "getattr", "rseq,getattr", "slice_end", ask_slice_end },
	{ "history", "rseq,history", "slice_end", ask_slice_end },
	{ "rusage", "rusage", "slice_id", ask_slice_id },
};

static void ask_nothing(void)
{
	__asm__ volatile("");
}

static double least_ns(void (*ask)(void))
{
	enum { TRIES = 50, LOOKS = 200 };
	uint64_t least = UINT64_MAX;

	for (int try = 0; try < TRIES; try++) {
		uint64_t since = ol_clock(), took;

		for (int i = 0; i < LOOKS; i++)
			ask();
		took = ol_clock() - since;
		least = took < least ? took : least;
	}
	return (double)least / LOOKS;
}

static void report_looks(void)
{
	const char *list = secure_getenv("OVERLOCK_KNOWLEDGE"), *between = "";
	const double nothing = least_ns(ask_nothing);

	part("looks");
	printf(",\"list\":[");
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		const char *from;

		ol_knowledge_choose(asked[i].with);
		from = ol_source_of(asked[i].fact);
		if (!from || strcmp(from, asked[i].source) != 0)
			continue;
		printf("%s{\"source\":\"%s\",\"fact\":\"%s\",\"ns\":%.2f}", between,
		       asked[i].source, asked[i].fact, least_ns(asked[i].ask) - nothing);
		between = ",";
	}
	if (!list || ol_knowledge_choose(list))
		ol_knowledge_choose("usual");
	putchar(']');
	end_part();
}

/* Threads that pass something on, each kept on a CPU. */

static cpu_set_t allowed[MOST_CPUS / CPU_SETSIZE];

static int next_cpu(int after)
{
	for (int cpu = after + 1; cpu < MOST_CPUS; cpu++)
		if (CPU_ISSET_S(cpu, sizeof(allowed), allowed))
			return cpu;
	return -1;
}

static bool keep_on(int cpu)
{
	cpu_set_t one[MOST_CPUS / CPU_SETSIZE];

	CPU_ZERO_S(sizeof(one), one);
	CPU_SET_S(cpu, sizeof(one), one);
	return !sched_setaffinity(0, sizeof(one), one);
}

enum { ENOUGH = 50, MOST_PASSES = 1 << 14 };

struct game {
	uint32_t turn __attribute__((aligned(128))); /* whose of the two it is */
	uint64_t sent, until, at_last;
	bool over;
	uint32_t done; /* of what is played for */
	uint32_t passes, took[MOST_PASSES];
	/* TSC: the highest seen by anyone, and by whom. */
	uint64_t highest __attribute__((aligned(128)));
	uint32_t owner, backwards;
	uint64_t worst;
	void (*play)(struct game *game, uint32_t me);
	int cpu[2];
	bool failed;
};

struct player {
	struct game *game;
	uint32_t number;
	pthread_t thread;
};

static void *player_start(void *argument)
{
	struct player *p = argument;

	if (!keep_on(p->game->cpu[p->number]))
		__atomic_store_n(&p->game->failed, true, __ATOMIC_RELAXED);
	p->game->play(p->game, p->number);
	return 0;
}

static bool play(struct game *game, uint64_t span, uint64_t at_last)
{
	struct player players[2] = { { game, 0, 0 }, { game, 1, 0 } };

	game->until = ol_clock() + span;
	game->at_last = at_last;
	for (int i = 0; i < 2; i++) {
		if (!pthread_create(&players[i].thread, 0, player_start, &players[i]))
			continue;
		__atomic_store_n(&game->over, true, __ATOMIC_RELEASE);
		if (i)
			pthread_join(players[0].thread, 0);
		return false;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(players[i].thread, 0);
	return !game->failed;
}

static bool is_over(struct game *game)
{
	bool enough = __atomic_load_n(&game->done, __ATOMIC_RELAXED) >= ENOUGH;

	return __atomic_load_n(&game->over, __ATOMIC_ACQUIRE) ||
	       ol_clock() > (enough ? game->until : game->at_last);
}

/*
 * Each sleeps until it is its turn. Time passes from just before the other is woken until it runs;
 * on one CPU that is a wake-up and a switch, on two a wake-up across.
 */
static void pass_by_futex(struct game *game, uint32_t me)
{
	while (!is_over(game)) {
		uint64_t until = ol_now() + ol_ticks_from_ns(SPAN_NS);

		if (__atomic_load_n(&game->turn, __ATOMIC_ACQUIRE) != me) {
			ol_park(&game->turn, !me, OL_ANY, until);
			continue;
		}
		if (game->sent && game->passes < MOST_PASSES)
			game->took[game->passes++] = (uint32_t)(ol_clock() - game->sent);
		__atomic_fetch_add(&game->done, 1, __ATOMIC_RELAXED);
		game->sent = ol_clock();
		__atomic_store_n(&game->turn, !me, __ATOMIC_SEQ_CST);
		ol_kick(&game->turn, OL_ANY, 1);
	}
	__atomic_store_n(&game->over, true, __ATOMIC_RELEASE);
	ol_kick(&game->turn, OL_ANY, 1);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void report_passes(const char *name, int from, int to)
{
	static struct game game;

	memset(&game, 0, sizeof(game));
	game.play = pass_by_futex;
	game.cpu[0] = from;
	game.cpu[1] = to;
	if (!play(&game, SPAN_NS, ol_clock() + MOST_NS) || !game.passes)
		return;
	qsort(game.took, game.passes, sizeof(*game.took), compare);
	part(name);
	printf(",\"passes\":%u,\"least_ns\":%u,\"median_ns\":%u", game.passes, game.took[0],
	       game.took[game.passes / 2]);
	end_part();
}

#if defined(__x86_64__)
/* Who reads a counter after having seen another CPU's value must not find less. */
static void compare_counters(struct game *game, uint32_t me)
{
	while (!is_over(game)) {
		uint64_t seen = __atomic_load_n(&game->highest, __ATOMIC_ACQUIRE), now;
		uint32_t owner = __atomic_exchange_n(&game->owner, me, __ATOMIC_RELAXED);

		_mm_lfence(); /* RDTSC may not be executed before that load */
		now = __rdtsc();
		if (owner != me)
			__atomic_fetch_add(&game->done, 1, __ATOMIC_RELAXED);
		if (now < seen) {
			__atomic_fetch_add(&game->backwards, 1, __ATOMIC_RELAXED);
			if (seen - now > __atomic_load_n(&game->worst, __ATOMIC_RELAXED))
				__atomic_store_n(&game->worst, seen - now, __ATOMIC_RELAXED);
			continue;
		}
		__atomic_compare_exchange_n(&game->highest, &seen, now, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
	}
}

/* The first allowed CPU with each other, until the time is up: not all of many. */
static void report_counters(int first)
{
	static struct game game;
	uint64_t worst = 0, exchanges = 0, backwards = 0, at_last = ol_clock() + MOST_NS;
	int compared = 1, cpus = CPU_COUNT_S(sizeof(allowed), allowed);

	for (int cpu = next_cpu(first); cpu >= 0 && ol_clock() < at_last; cpu = next_cpu(cpu)) {
		memset(&game, 0, sizeof(game));
		game.play = compare_counters;
		game.cpu[0] = first;
		game.cpu[1] = cpu;
		if (!play(&game, TSC_SPAN_NS, at_last))
			return;
		compared += game.done > 0;
		exchanges += game.done;
		backwards += game.backwards;
		worst = game.worst > worst ? game.worst : worst;
	}
	part("tsc");
	printf(",\"compared\":%d,\"cpus\":%d,\"exchanges\":%lu,\"backwards\":%lu", compared, cpus,
	       (unsigned long)exchanges, (unsigned long)backwards);
	printf(",\"worst_ticks\":%lu", (unsigned long)worst);
	end_part();
}
#else
static void report_counters(int first)
{
	(void)first; /* one counter for all CPUs, by architecture */
}
#endif

static void report_cpus(void)
{
	int first = next_cpu(-1), second = next_cpu(first);

	if (first < 0)
		return;
	report_passes("switch", first, first);
	if (second < 0)
		return;
	report_passes("wake", first, second);
	report_counters(first);
}

/* What the kernel lets us do; each is undone by our end. */

extern const unsigned int __rseq_size __attribute__((weak)); /* glibc 2.35 */

static void report_rseq(void)
{
	part("rseq");
	printf(",\"size\":%u", &__rseq_size ? __rseq_size : 0);
	put_error("slice_extension_error", !ol_rseq_kernel.has());
	end_part();
}

/* A length that the caller asked for is inherited; asking for 0 gives the kernel's own back. */
static void report_slice(void)
{
	struct attributes now, asked = { .size = sizeof(asked) };
	const uint64_t wanted_ns = 300000;

	part("slice");
	if (attributes_get(&now))
		printf(",\"now_ns\":%lu", (unsigned long)now.runtime_ns);
	asked.nice = now.nice;
	if (attributes_set(&asked) && attributes_get(&asked))
		printf(",\"kernel_ns\":%lu", (unsigned long)asked.runtime_ns);
	asked.runtime_ns = wanted_ns;
	put_error("error", !attributes_set(&asked));
	if (attributes_get(&asked))
		printf(",\"asked_ns\":%lu,\"got_ns\":%lu", (unsigned long)wanted_ns,
		       (unsigned long)asked.runtime_ns);
	attributes_set(&now);
	end_part();
}

static void report_priority(void)
{
	struct sched_param lowest = { .sched_priority = 1 }, none = { 0 };
	int nice = getpriority(PRIO_PROCESS, 0);

	part("priority");
	put_error("fifo_error", sched_setscheduler(0, SCHED_FIFO, &lowest) != 0);
	sched_setscheduler(0, SCHED_OTHER, &none);
	put_error("nice_error", setpriority(PRIO_PROCESS, 0, nice - 1) != 0);
	setpriority(PRIO_PROCESS, 0, nice);
	end_part();
}

/* What the kernel said at boot about its own spinlocks, if we may read it and it is still there. */
static void report_kernel_log(void)
{
	enum { READ_ALL = 3, SIZE_BUFFER = 10 };
	int size = klogctl(SIZE_BUFFER, 0, 0);
	char *log = size > 0 ? malloc((size_t)size + 1) : 0, *rest = log;
	int length = log ? klogctl(READ_ALL, log, size) : -1;
	const char *between = "";

	part("kernel_log");
	put_error("error", length < 0);
	if (length >= 0) {
		log[length] = 0;
		printf(",\"spinlock_lines\":[");
		for (char *line; (line = strsep(&rest, "\n"));) {
			if (!strcasestr(line, "spinlock"))
				continue;
			printf("%s", between);
			put_text(0, line, strlen(line));
			between = ",";
		}
		putchar(']');
	}
	end_part();
	free(log);
}

static void report_perf(void)
{
	struct perf_event_attr own_switches = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(own_switches),
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.exclude_kernel = 1,
	};
	long fd = syscall(SYS_perf_event_open, &own_switches, 0, -1, -1, 0);

	part("perf");
	put_error("error", fd < 0);
	end_part();
	if (fd >= 0)
		close((int)fd);
}

/* Loads `return 0`, which is never attached. */
static void try_bpf(const char *name, uint32_t type)
{
	struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = type,
		.insn_cnt = 2,
		.insns = (uintptr_t)program,
		.license = (uintptr_t)"GPL",
	};
	long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	put_error(name, fd < 0);
	if (fd >= 0)
		close((int)fd);
}

static void report_bpf(void)
{
	part("bpf");
	try_bpf("filter_error", BPF_PROG_TYPE_SOCKET_FILTER);
	try_bpf("tracing_error", BPF_PROG_TYPE_RAW_TRACEPOINT);
	end_part();
}

int main(void)
{
	if (sched_getaffinity(0, sizeof(allowed), allowed))
		CPU_ZERO_S(sizeof(allowed), allowed);
	report_cpu();
	report_costs();
	report_sources();
	report_cpus();
	report_rseq();
	report_slice();
	report_priority();
	report_kernel_log();
	report_perf();
	report_bpf();
	report_looks();
	return ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
