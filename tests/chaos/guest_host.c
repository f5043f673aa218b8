// SPDX-License-Identifier: MIT
/*
 * guest_host PLUGIN FOLDER VCPUS WORD...: as much of QEMU as the plugin of `overlock guest chaos` asks for. The
 * last vCPU goes through sections of a module again and again: a call of a lock's function, BLOCKS blocks, a
 * release. For each section it prints after how many blocks the vCPU lost its CPU, or "release", or "not". Before,
 * each of the others begins a section of its own, and loses its CPU there.
 */
#include "guest.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MODULE UINT64_C(0xffffffffa0000000) /* where Linux without CONFIG_RANDOMIZE_BASE has them */
#define LOCK   UINT64_C(0xffffffff81000010)
#define UNLOCK UINT64_C(0xffffffff81000020)
enum { BLOCKS = 9, SECTIONS = 60, MOST_CALLS = 4, LENGTH = 5 };

typedef uint64_t id_t64;
typedef void executed_fn(unsigned int vcpu, void *data);

struct call {
	executed_fn *function;
	void *data;
};

struct qemu_plugin_insn {
	uint64_t at, size;
	unsigned char bytes[LENGTH];
	struct call calls[MOST_CALLS];
	int n_calls;
};

/* Of one instruction. */
struct qemu_plugin_tb {
	struct qemu_plugin_insn insn;
	struct call calls[MOST_CALLS];
	int n_calls;
};

static void (*translated)(id_t64, struct qemu_plugin_tb *);

void qemu_plugin_register_vcpu_tb_trans_cb(id_t64 id, void (*f)(id_t64, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(struct qemu_plugin_tb *tb, size_t i);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, executed_fn *f, int flags,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, executed_fn *f,
					    int flags, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(id_t64 id, void (*f)(id_t64, struct qemu_plugin_tb *))
{
	(void)id;
	translated = f;
}

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
	(void)tb;
	return 1;
}

struct qemu_plugin_insn *qemu_plugin_tb_get_insn(struct qemu_plugin_tb *tb, size_t i)
{
	return i ? NULL : &tb->insn;
}

size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn)
{
	return insn->size;
}

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return insn->at;
}

const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn)
{
	return insn->bytes;
}

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, executed_fn *f, int flags,
					  void *data)
{
	(void)flags;
	tb->calls[tb->n_calls++] = (struct call){ f, data };
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, executed_fn *f,
					    int flags, void *data)
{
	(void)flags;
	insn->calls[insn->n_calls++] = (struct call){ f, data };
}

/* A block at that address: a call of what is at `target`, or something else if that is 0. */
static struct qemu_plugin_tb *block(uint64_t at, uint64_t target)
{
	struct qemu_plugin_tb *tb = calloc(1, sizeof(*tb));
	int32_t distance = (int32_t)(int64_t)(target - (at + LENGTH));

	if (!tb)
		exit(2);
	tb->insn.at = at;
	tb->insn.size = target ? LENGTH : 1;
	tb->insn.bytes[0] = target ? 0xe8 : 0x90;
	memcpy(tb->insn.bytes + 1, &distance, sizeof(distance));
	translated(0, tb);
	return tb;
}

static void executed(unsigned int vcpu, struct qemu_plugin_tb *tb)
{
	for (int i = 0; i < tb->n_calls; i++)
		tb->calls[i].function(vcpu, tb->calls[i].data);
	for (int i = 0; i < tb->insn.n_calls; i++)
		tb->insn.calls[i].function(vcpu, tb->insn.calls[i].data);
}

static struct qemu_plugin_tb *calls, *inside[BLOCKS], *releases;

static void translate(void)
{
	calls = block(MODULE, LOCK);
	for (int i = 0; i < BLOCKS; i++)
		inside[i] = block(MODULE + LENGTH + (uint64_t)i, 0);
	releases = block(MODULE + 100, UNLOCK);
}

static uint64_t naps(const struct guest_record *record)
{
	uint64_t sum = 0;

	for (int i = 0; i < GUEST_SITES; i++)
		sum += record->sites[i].naps[GUEST_inside];
	return sum;
}

static void sections(unsigned int vcpu, const struct guest_record *record)
{
	for (int n = 0; n < SECTIONS; n++) {
		uint64_t before = naps(record);
		int i = 0;

		executed(vcpu, calls);
		while (i < BLOCKS && (executed(vcpu, inside[i]), naps(record) == before))
			i++;
		for (int rest = i + 1; rest < BLOCKS; rest++)
			executed(vcpu, inside[rest]);
		executed(vcpu, releases);
		if (i < BLOCKS)
			printf("%d\n", i);
		else
			puts(naps(record) > before ? "release" : "not");
	}
}

static int ended;

static void *other(void *vcpu)
{
	unsigned int me = *(unsigned int *)vcpu;

	executed(me, calls);
	for (int i = 0; i < BLOCKS; i++)
		executed(me, inside[i]);
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Until each of the others is without a CPU, or has not lost it. */
static void stop_others(unsigned int n, const struct guest_record *record)
{
	static unsigned int numbers[16];
	pthread_t thread;

	for (unsigned int i = 0; i < n && i < 16; i++) {
		numbers[i] = i;
		if (pthread_create(&thread, NULL, other, &numbers[i]))
			exit(2);
		pthread_detach(thread);
		while (naps(record) <= i && !__atomic_load_n(&ended, __ATOMIC_RELAXED))
			sched_yield();
	}
}

static struct guest_record *mapped(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p =
		mmap(NULL, sizeof(struct guest_record), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

int main(int argc, char **argv)
{
	const int n = argc > 3 ? atoi(argv[3]) : 0;
	struct {
		const char *target_name;
		int versions[2];
		bool system_emulation;
		int vcpus[2];
	} info = { "x86_64", { 1, 1 }, true, { n, n } };
	void *plugin = n > 0 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*install)(id_t64, const void *, int, char **);
	struct guest_record *record;
	char path[4096];

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	*(void **)&install = dlsym(plugin, "qemu_plugin_install");
	if (install(0, &info, argc - 4, argv + 4))
		return 2;
	snprintf(path, sizeof(path), "%s/record", argv[2]);
	record = mapped(path);
	if (!record)
		return 2;
	record->on = 1;
	translate();
	stop_others((unsigned int)n - 1, record);
	sections((unsigned int)n - 1, record);
	return __atomic_load_n(&ended, __ATOMIC_RELAXED) ? 3 : 0;
}
