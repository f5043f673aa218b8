/* SPDX-License-Identifier: MIT */
/*
 * An object of a program that `overlock profile` watches, and a thread's stack: its place in code, so many words of
 * the stack, and the bytes of the file, which is mapped at BASE.
 */
#include "must.h"

#include <gelf.h>
#include <time.h>

/* Each look at the clock takes 10 ms, so that how much is looked through does not depend on the machine. */
static int fake_clock(clockid_t clock, struct timespec *now)
{
	static uint64_t ns = 1;

	(void)clock;
	ns += 10000000;
	*now = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	return 0;
}

static unsigned relocations; /* that were read */

static GElf_Rela *count_relocation(Elf_Data *data, int i, GElf_Rela *into)
{
	relocations++;
	return gelf_getrela(data, i, into);
}

#define clock_gettime fake_clock
#define gelf_getrela  count_relocation

/* Two files, two of each. */
#define name_of	 name_of_word
#define WORD	 BYTES_OF_WORD
#define START_NS SCAN_START_NS
#define ONE_IN	 SCAN_ONE_IN
#include "profile/scan.c"
#undef name_of
#undef WORD
#undef START_NS
#undef ONE_IN
#include "profile/unwind.c"

#include <sys/mman.h>

#define BASE UINT64_C(0x10000)

static int no_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, char **file,
		   Elf **elf)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

/* Closed by libdwfl, if it takes it. */
static Dwfl_Module *add_object(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("object", MFD_CLOEXEC);
	Dwfl_Module *module;

	must(fd >= 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n, "there is no file");
	module = dwfl_report_elf(now.dwfl, "object", "object", fd, BASE, true);
	if (!module)
		close(fd);
	return module;
}

static void look(const struct stack_record *record)
{
	struct frame frames[MOST_FRAMES];
	bool scanned;
	unsigned n = unwind_stack(record, frames, &scanned);

	must(n >= 1 && n <= MOST_FRAMES, "there are more frames than there is room");
	must(relocations <= record->bytes / 8 * (LOOK_NS / 10000000 + 2) * STEPS,
	     "a look goes on and on");
	for (unsigned i = 0; i < n; i++)
		must(frames[i].module < (int32_t)now.known,
		     "a frame is in an object that is not known");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const Dwfl_Callbacks of_file = {
		.find_elf = no_file,
		.find_debuginfo = no_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	static struct stack_record record;
	size_t words;

	if (n < 9)
		return 0;
	memset(&record, 0, sizeof(record));
	memcpy(&record.at.ip, bytes, 8);
	words = bytes[8];
	bytes += 9;
	n -= 9;
	if (words * 8 > n || words * 8 > sizeof(record.stack))
		return 0;
	memcpy(record.stack, bytes, words * 8);
	record.bytes = (uint32_t)(words * 8);
	record.at.sp = 0x7f0000000000;
	now.process = record.thread = getpid();
	now.spent = UINT64_MAX; /* our own objects are not read */
	looks.spent = 0;
	scan_forget();
	relocations = 0;
	now.attached = false;
	now.dwfl = dwfl_begin(&of_file);
	must(now.dwfl, "there is no memory");
	dwfl_report_begin(now.dwfl);
	add_object(bytes + words * 8, n - words * 8);
	dwfl_report_end(now.dwfl, NULL, NULL);
	look(&record);
	dwfl_end(now.dwfl);
	now.dwfl = NULL;
	return 0;
}
