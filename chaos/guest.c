/* SPDX-License-Identifier: MIT */
/*
 * A plugin for QEMU, for `overlock guest chaos`. It finds the calls of the kernel's lock functions when
 * QEMU translates them; when a vCPU comes to one, its thread may first sleep. To the guest that is as if
 * the host had taken the CPU from just that vCPU, and that vCPU holds the lock. The kernel is unmodified.
 *
 * Of QEMU's API only what versions 1 to 4 have in common is used, and declared here.
 */
#include "bare.h"
#include "decide.h"
#include "guest.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT	__attribute__((visibility("default")))
#define BILLION UINT64_C(1000000000)

/* QEMU's. */

typedef uint64_t qemu_plugin_id_t;

typedef struct {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	union {
		struct {
			int smp_vcpus, max_vcpus;
		} system;
	};
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*translated_fn)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*executed_fn)(unsigned int vcpu, void *data);
enum { NO_REGISTERS };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated_fn);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, executed_fn, int registers,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, executed_fn, int registers,
					    void *data);

EXPORT int qemu_plugin_version = 1;

/* Up to QEMU 8 it returned the bytes; since 9.1 it copies them. */
static bool copies_bytes;
static void *insn_data;

__attribute__((constructor)) static void find_version(void)
{
	insn_data = dlsym(RTLD_DEFAULT, "qemu_plugin_insn_data");
	copies_bytes = dlsym(RTLD_DEFAULT, "qemu_plugin_request_time_control");
	if (copies_bytes)
		qemu_plugin_version = 3;
}

static bool bytes_of(const struct qemu_plugin_insn *insn, unsigned char *bytes, size_t n)
{
	const void *(*gives)(const struct qemu_plugin_insn *) = insn_data;
	size_t (*copies)(const struct qemu_plugin_insn *, void *, size_t) = insn_data;
	const void *found;

	if (copies_bytes)
		return copies(insn, bytes, n) == n;
	found = gives(insn);
	if (found)
		memcpy(bytes, found, n);
	return found;
}

/* What is told. */

enum does { NOTHING, LOCKS, TRIES, UNLOCKS }; /* without waiting: TRIES */

static struct function {
	uint64_t at;
	enum does does;
} *functions;
static size_t n_functions;

static struct chaos_odds odds = { .shortest_ns = 1000000, .longest_ns = 20000000 };
static uint64_t moments = UINT64_MAX; /* a bit each */
static uint64_t modules = UINT64_MAX; /* begin behind the kernel */
static struct guest_record *record;
static size_t n_vcpus;

/* Of each vCPU and site: when its call began, 0 if it is not within; and how often it was there. */
struct seen {
	uint64_t since;
	uint64_t visits[GUEST_MOMENTS];
};
static struct seen *seen;

/* Of each vCPU: to lose its CPU so many blocks of code later, within the section. */
static struct armed {
	struct guest_site *site; /* null: it is not */
	uint64_t ns, blocks;
} *armed;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * BILLION + (uint64_t)t.tv_nsec;
}

static enum does does(uint64_t address)
{
	for (size_t i = 0; i < n_functions; i++)
		if (functions[i].at == address)
			return functions[i].does;
	return NOTHING;
}

/* Visits. */

/* Only blocks of modules, in which tests are, count: a call for each of the kernel's would make it slow. */
enum { MOST_BLOCKS = 8 };

/* The filter is written before `on` is set. */
static bool is_meant(const struct guest_site *s)
{
	uint64_t n = record->n_ranges;

	for (uint64_t i = 0; i < n && i < GUEST_RANGES; i++)
		if (record->ranges[i].from <= s->at && s->at < record->ranges[i].to)
			return true;
	return !n;
}

static void nap(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	struct timespec until = { (time_t)(end / BILLION), (long)(end % BILLION) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0) == EINTR)
		;
}

static struct seen *seen_by(unsigned int vcpu, const struct guest_site *s)
{
	return &seen[vcpu * GUEST_SITES + (size_t)(s - record->sites)];
}

static bool is_on(void)
{
	return __atomic_load_n(&record->on, __ATOMIC_ACQUIRE);
}

static uint64_t draw(unsigned int vcpu, struct guest_site *s, enum guest_moment moment)
{
	uint64_t n = seen_by(vcpu, s)->visits[moment]++;

	__atomic_fetch_add(&s->visits[moment], 1, __ATOMIC_RELAXED);
	if (!(moments >> moment & 1) || !is_meant(s))
		return 0;
	return chaos_decided(&odds, vcpu, s->at << 3 | moment, n);
}

/* While none runs, nobody comes upon what the others left: one does, unless there is but one. */
static void lose(struct guest_site *s, enum guest_moment moment, uint64_t ns)
{
	static size_t stopped;

	if (__atomic_add_fetch(&stopped, 1, __ATOMIC_RELAXED) < n_vcpus || n_vcpus == 1) {
		__atomic_fetch_add(&s->naps[moment], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->nap_ns, ns, __ATOMIC_RELAXED);
		nap(ns);
	}
	__atomic_sub_fetch(&stopped, 1, __ATOMIC_RELAXED);
}

static void visit(unsigned int vcpu, struct guest_site *s, enum guest_moment moment)
{
	uint64_t ns = draw(vcpu, s, moment);

	if (ns)
		lose(s, moment, ns);
}

/* A section goes on for some blocks; where it is shorter, its end counts. */
static void arm(unsigned int vcpu, struct guest_site *s)
{
	uint64_t ns = draw(vcpu, s, GUEST_inside), n = seen_by(vcpu, s)->visits[GUEST_inside];

	if (ns)
		armed[vcpu] =
			(struct armed){ s, ns,
					1 + chaos_mixed(odds.seed ^ chaos_mixed(n)) % MOST_BLOCKS };
}

static void disarm(unsigned int vcpu)
{
	struct armed now = armed[vcpu];

	armed[vcpu].site = 0;
	if (now.site)
		lose(now.site, GUEST_inside, now.ns);
}

static void at_block(unsigned int vcpu, void *unused)
{
	(void)unused;
	if (armed[vcpu].site && !--armed[vcpu].blocks)
		disarm(vcpu);
}

static void note_wait(struct guest_site *s, uint64_t ns)
{
	uint64_t worst = __atomic_load_n(&s->worst_ns, __ATOMIC_RELAXED);

	__atomic_fetch_add(&s->wait_ns, ns, __ATOMIC_RELAXED);
	while (worst < ns && !__atomic_compare_exchange_n(&s->worst_ns, &worst, ns, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void at_try(unsigned int vcpu, void *site)
{
	if (is_on())
		visit(vcpu, site, GUEST_waiter);
}

static void at_lock(unsigned int vcpu, void *site)
{
	if (!is_on())
		return;
	visit(vcpu, site, GUEST_waiter);
	seen_by(vcpu, site)->since = now_ns();
}

/* The code behind a call is reached by jumps, too. */
static void after_lock(unsigned int vcpu, void *site)
{
	struct seen *mine = seen_by(vcpu, site);

	if (!mine->since)
		return;
	note_wait(site, now_ns() - mine->since);
	mine->since = 0;
	if (!is_on())
		return;
	visit(vcpu, site, GUEST_holder);
	arm(vcpu, site);
}

static void at_unlock(unsigned int vcpu, void *site)
{
	disarm(vcpu);
	if (!is_on())
		return;
	visit(vcpu, site, GUEST_before_unlock);
	seen_by(vcpu, site)->since = 1;
}

static void after_unlock(unsigned int vcpu, void *site)
{
	struct seen *mine = seen_by(vcpu, site);

	if (mine->since && is_on())
		visit(vcpu, site, GUEST_after_unlock);
	mine->since = 0;
}

/* Translation. */

static struct guest_site *find_site(uint64_t address, enum does make)
{
	for (uint64_t probe = 0, i = chaos_mixed(address); probe < GUEST_SITES; probe++, i++) {
		struct guest_site *s = &record->sites[i % GUEST_SITES];
		uint64_t there = __atomic_load_n(&s->at, __ATOMIC_ACQUIRE);

		if (there == address)
			return s;
		if (!there && !make)
			return 0;
		if (!there) {
			s->does = make;
			__atomic_store_n(&s->at, address, __ATOMIC_RELEASE);
			return s;
		}
	}
	record->n_lost += make != NOTHING;
	return 0;
}

/* vCPUs translate at the same time. */
static struct guest_site *make_site(uint64_t address, enum does does)
{
	static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
	struct guest_site *s;

	pthread_mutex_lock(&making);
	s = find_site(address, does);
	pthread_mutex_unlock(&making);
	return s;
}

enum { CALL = 0xe8, JUMP = 0xe9, LENGTH = 5 };

/* What a direct call calls, or a jump in place of a last call. That does not return here. */
static enum does called(const struct qemu_plugin_insn *insn, uint64_t at)
{
	unsigned char bytes[LENGTH];
	int32_t distance;
	enum does found;

	if (qemu_plugin_insn_size(insn) != LENGTH || !bytes_of(insn, bytes, LENGTH) ||
	    (bytes[0] != CALL && bytes[0] != JUMP))
		return NOTHING;
	memcpy(&distance, bytes + 1, sizeof(distance));
	found = does(at + LENGTH + (uint64_t)(int64_t)distance);
	return found == LOCKS && bytes[0] == JUMP ? TRIES : found;
}

static void watch(struct qemu_plugin_insn *insn, executed_fn function, struct guest_site *s)
{
	if (s && function)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, function, NO_REGISTERS, s);
}

/* The code behind a call is translated after it: a call ends what is translated at once. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	static const executed_fn calls[] = { 0, at_lock, at_try, at_unlock };
	static const executed_fn returns[] = { 0, after_lock, 0, after_unlock };

	(void)id;
	if (qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) >= modules)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, at_block, NO_REGISTERS, 0);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t at = qemu_plugin_insn_vaddr(insn);
		struct guest_site *behind = find_site(at - LENGTH, NOTHING);
		enum does what = called(insn, at);

		if (behind)
			watch(insn, returns[behind->does], behind);
		if (what)
			watch(insn, calls[what], make_site(at, what));
	}
}

/* The start. */

static int refuse(const char *what)
{
	fprintf(stderr, "overlock: the plugin for QEMU: %s\n", what);
	return -1;
}

/* Lines of an address, and what the function there does: `lock`, `try` or `unlock`. */
static bool read_functions(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long at;
	char word[16];

	while (file && fscanf(file, "%llx %15s", &at, word) == 2) {
		struct function *more = realloc(functions, (n_functions + 1) * sizeof(*more));
		enum does does = *word == 'l' ? LOCKS : *word == 't' ? TRIES : UNLOCKS;

		if (!more)
			break;
		functions = more;
		functions[n_functions++] = (struct function){ at, does };
	}
	if (file)
		fclose(file);
	return n_functions;
}

static bool map_record(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *p = fd < 0 || !ol_bare_reserve(fd, 0, sizeof(*record))
			  ? MAP_FAILED
			  : mmap(0, sizeof(*record), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	record = p == MAP_FAILED ? 0 : p;
	return record;
}

static void read_setting(const char *text)
{
	const char *equals = strchr(text, '=');
	const char *value = equals ? equals + 1 : "";
	char *dash;

	if (!strncmp(text, "functions=", 10)) {
		read_functions(value);
	} else if (!strncmp(text, "record=", 7)) {
		map_record(value);
	} else if (!strncmp(text, "seed=", 5)) {
		odds.seed = strtoull(value, 0, 10);
	} else if (!strncmp(text, "rate=", 5)) {
		odds.rate = (double)strtoull(value, 0, 10) / (double)BILLION;
	} else if (!strncmp(text, "moments=", 8)) {
		moments = strtoull(value, 0, 10);
	} else if (!strncmp(text, "modules=", 8)) {
		modules = strtoull(value, 0, 16);
	} else if (!strncmp(text, "length=", 7)) {
		odds.shortest_ns = odds.longest_ns = strtoull(value, &dash, 10);
		if (*dash == '-')
			odds.longest_ns = strtoull(dash + 1, 0, 10);
	}
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (!info->system_emulation || strcmp(info->target_name, "x86_64") != 0)
		return refuse("it is for guests of x86-64");
	for (int i = 0; i < argc; i++)
		read_setting(argv[i]);
	n_vcpus = (size_t)info->system.max_vcpus;
	seen = calloc(n_vcpus * GUEST_SITES, sizeof(*seen));
	armed = calloc(n_vcpus, sizeof(*armed));
	if (!record || !seen || !armed || !n_functions || odds.longest_ns < odds.shortest_ns)
		return refuse(
			"its settings are incomplete; it is started by `overlock guest chaos`");
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
