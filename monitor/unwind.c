/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "unwind.h"
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_MODULES = 1024, REGISTERS = 17, WORD = 8 };

static struct {
	Dwfl *dwfl;
	pid_t process;
	bool attached;
	uint64_t mapped;		   /* when the process's objects were read last, in ms */
	const struct stack_record *record; /* that is unwound */
	struct frame *frames;
	unsigned n;
	char *modules[MOST_MODULES];
	unsigned known;
} now;

/* Debug information would be looked for in other files, and names are found later. */
static int no_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc,
		(void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = no_debuginfo,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl, (void)arg, (void)thread;
	return 0;
}

static bool get_thread(Dwfl *dwfl, pid_t id, void *arg, void **thread)
{
	(void)dwfl, (void)id, (void)arg;
	*thread = NULL;
	return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *arg)
{
	const struct stack_record *r = now.record;

	(void)dwfl, (void)arg;
	if (address < r->at.sp || r->bytes < WORD || address - r->at.sp > r->bytes - WORD)
		return false;
	memcpy(word, r->stack + (address - r->at.sp), WORD);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct place_in_code *at = &now.record->at;
	const Dwarf_Word words[REGISTERS] = {
		[3] = at->bx,	[6] = at->bp,	[7] = at->sp,	[12] = at->r12,
		[13] = at->r13, [14] = at->r14, [15] = at->r15, [16] = at->ip,
	};

	(void)arg;
	return dwfl_thread_state_registers(thread, 0, REGISTERS, words);
}

static const Dwfl_Thread_Callbacks of_threads = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

enum { READ_AGAIN_MS = 20 };

static void map(void)
{
	now.mapped = now_ms();
	dwfl_report_begin_add(now.dwfl);
	dwfl_linux_proc_report(now.dwfl, now.process);
	dwfl_report_end(now.dwfl, NULL, NULL);
}

void unwind_begin(void)
{
	if (now.dwfl)
		dwfl_end(now.dwfl);
	now.dwfl = dwfl_begin(&callbacks);
	now.attached = false;
	if (now.dwfl)
		map();
}

bool unwind_open(pid_t process)
{
	now.process = process;
	unwind_begin();
	return now.dwfl;
}

static int32_t number_of(const char *path)
{
	for (unsigned i = 0; i < now.known; i++)
		if (!strcmp(now.modules[i], path))
			return (int32_t)i;
	if (now.known == MOST_MODULES || !(now.modules[now.known] = strdup(path)))
		return -1;
	return (int32_t)now.known++;
}

static Dwfl_Module *module_of(uint64_t address)
{
	Dwfl_Module *module = now.dwfl ? dwfl_addrmodule(now.dwfl, address) : NULL;

	if (module || !now.dwfl || now_ms() - now.mapped < READ_AGAIN_MS)
		return module;
	map();
	return dwfl_addrmodule(now.dwfl, address);
}

struct frame unwind_find(uint64_t address)
{
	Dwfl_Module *module = module_of(address);
	const char *file = NULL, *name;
	GElf_Addr bias;

	if (!module || !dwfl_module_getelf(module, &bias))
		return (struct frame){ -1, address };
	name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &file, NULL);
	return (struct frame){ number_of(file ? file : name), address - bias };
}

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	Dwarf_Addr pc;
	bool exact;

	(void)arg;
	if (now.n == MOST_FRAMES || !dwfl_frame_pc(frame, &pc, &exact) || !pc)
		return DWARF_CB_ABORT;
	now.frames[now.n++] = unwind_find(exact ? pc : pc - 1);
	return DWARF_CB_OK;
}

unsigned unwind_stack(const struct stack_record *record, struct frame *frames)
{
	now.record = record;
	now.frames = frames;
	now.n = 0;
	module_of(record->at.ip);
	if (!now.attached)
		now.attached = dwfl_attach_state(now.dwfl, NULL, now.process, &of_threads, NULL);
	if (now.attached)
		dwfl_getthread_frames(now.dwfl, (pid_t)record->thread, add_frame, NULL);
	if (!now.n)
		frames[now.n++] = unwind_find(record->at.ip);
	return now.n;
}

const char *unwind_module(unsigned number)
{
	return number < now.known ? now.modules[number] : NULL;
}

void unwind_close(void)
{
	if (now.dwfl)
		dwfl_end(now.dwfl);
}
