/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "scan.h"
#include <gelf.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { WORD = 8, INDIRECT = 6, STUB = 11 }; /* lengths in bytes */

/*
 * Files say how much there is to look through, and may lie. So a look ends after LOOK_NS; and all take no more than
 * a quarter of the time, but for the first second.
 */
enum { LOOK_NS = 200000000, START_NS = 1000000000, ONE_IN = 4, STEPS = 1024 };

/* What was found for a word; one that takes the same place displaces it. */
enum { KEPT = 4096 };
static struct {
	uint64_t word, function;
} kept[KEPT];

static struct {
	uint64_t began; /* the first */
	uint64_t until; /* the one under way */
	uint64_t spent;
} looks;

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool may_look(uint64_t now)
{
	if (!looks.began)
		looks.began = now;
	looks.until = now + LOOK_NS;
	return looks.spent <= START_NS + (now - looks.began) / ONE_IN;
}

/* Asked at each step. */
static bool is_late(int step)
{
	return !(step % STEPS) && monotonic_ns() >= looks.until;
}

void scan_forget(void)
{
	memset(kept, 0, sizeof(kept));
}

static bool read_code(Dwfl *objects, uint64_t address, uint8_t *into, size_t bytes)
{
	Dwfl_Module *module = dwfl_addrmodule(objects, address);
	Dwarf_Addr bias, at = address;
	Elf_Scn *section = module ? dwfl_module_address_section(module, &at, &bias) : NULL;
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	if (!data || !data->d_buf || at > data->d_size || bytes > data->d_size - at)
		return false;
	memcpy(into, (const uint8_t *)data->d_buf + at, bytes);
	return true;
}

static int32_t displacement(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* A function's address, by its name in any object. */
static uint64_t defined(Dwfl_Module *module, const char *name)
{
	int n = dwfl_module_getsymtab(module);

	for (int i = 1; i < n && !is_late(i); i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		GElf_Word section;
		const char *is =
			dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);

		if (is && section != SHN_UNDEF && !strcmp(is, name))
			return address;
	}
	return 0;
}

struct wanted {
	const char *name;
	uint64_t found;
};

static int look_in(Dwfl_Module *module, void **data, const char *path, Dwarf_Addr base, void *arg)
{
	struct wanted *wanted = arg;

	(void)data, (void)path, (void)base;
	wanted->found = defined(module, wanted->name);
	return wanted->found || is_late(0) ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* The relocation of that word, among those of a section; null: there is none. */
static const char *name_of(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, uint64_t word)
{
	Elf_Data *data = elf_getdata(section, NULL);
	Elf_Scn *symbols = elf_getscn(elf, header->sh_link);
	GElf_Shdr of_symbols;
	GElf_Rela rela;
	GElf_Sym symbol;

	if (!data || !symbols || !gelf_getshdr(symbols, &of_symbols))
		return NULL;
	for (int i = 0; !is_late(i) && gelf_getrela(data, i, &rela); i++) {
		if (rela.r_offset != word || !GELF_R_SYM(rela.r_info))
			continue;
		if (!gelf_getsym(elf_getdata(symbols, NULL), (int)GELF_R_SYM(rela.r_info), &symbol))
			return NULL;
		return elf_strptr(elf, of_symbols.sh_link, symbol.st_name);
	}
	return NULL;
}

static uint64_t look_for(Dwfl *objects, uint64_t word)
{
	Dwfl_Module *module = dwfl_addrmodule(objects, word);
	GElf_Addr bias;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	struct wanted wanted = { NULL, 0 };
	Elf_Scn *section = NULL;

	while (elf && !wanted.name && !is_late(0) && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
			wanted.name = name_of(elf, section, &header, word - bias);
	}
	if (wanted.name)
		dwfl_getmodules(objects, look_in, &wanted, 0);
	return wanted.found;
}

/* What the linker writes to that word. 0: nobody knows. */
static uint64_t linked(Dwfl *objects, uint64_t word)
{
	const uint64_t place = word / WORD % KEPT, begin = monotonic_ns();

	if (kept[place].word == word)
		return kept[place].function;
	if (!may_look(begin))
		return 0;
	kept[place].word = word;
	kept[place].function = look_for(objects, word);
	looks.spent += monotonic_ns() - begin;
	return kept[place].function;
}

/* What a linker's stub leads to: [endbr64] [bnd] jmp *offset(%rip). */
static uint64_t behind_stub(Dwfl *objects, uint64_t target)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[STUB];
	unsigned i = 0;

	if (!read_code(objects, target, code, sizeof(code)))
		return target;
	if (!memcmp(code, endbr, sizeof(endbr)))
		i += sizeof(endbr);
	if (code[i] == 0xf2 && code[i + 1] == 0xff)
		i++;
	if (i + INDIRECT > STUB || code[i] != 0xff || code[i + 1] != 0x25)
		return target;
	return linked(objects, target + i + INDIRECT + (uint64_t)displacement(code + i + 2));
}

/* Of the call that returns there. 0: there is none, or nobody knows. */
static uint64_t target_of(Dwfl *objects, uint64_t returns_to)
{
	uint8_t code[INDIRECT];

	if (!read_code(objects, returns_to - sizeof(code), code, sizeof(code)))
		return 0;
	if (code[0] == 0xff && code[1] == 0x15) /* call *offset(%rip) */
		return linked(objects, returns_to + (uint64_t)displacement(code + 2));
	if (code[1] == 0xe8) /* call offset */
		return behind_stub(objects, returns_to + (uint64_t)displacement(code + 2));
	return 0;
}

unsigned scan_stack(Dwfl *objects, const struct stack_record *record, struct scanned_call *calls,
		    unsigned most)
{
	unsigned n = 0;

	for (unsigned i = 0; i + WORD <= record->bytes && n < most; i += WORD) {
		uint64_t word, target;

		memcpy(&word, record->stack + i, WORD);
		target = dwfl_addrmodule(objects, word) ? target_of(objects, word) : 0;
		if (target && dwfl_addrmodule(objects, target))
			calls[n++] = (struct scanned_call){ target, word - 1 };
	}
	return n;
}
