/* SPDX-License-Identifier: MIT */
/*
 * overlock-symbolizer FILE: names of code and variables of an ELF file, where there is no llvm-symbolizer.
 *
 * It reads addresses, one a line, `0x1234` of code or `DATA 0x1234` of a variable, and answers each by a
 * line of JSON as llvm-symbolizer --output-style=JSON does: functions innermost first, with inlined ones.
 * Nothing is asked of a network.
 */
#define _GNU_SOURCE
#include "words.h"
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* libstdc++'s, linked in from its archive. */
int __gcclibcxx_demangle_callback(const char *name, void (*add)(const char *, size_t, void *),
				  void *arg);

static void add_part(const char *part, size_t bytes, void *arg)
{
	fwrite(part, 1, bytes, arg);
}

static void tell_name(const char *name)
{
	char *readable = NULL;
	size_t bytes;
	FILE *made = open_memstream(&readable, &bytes);
	bool mangled = made && !strncmp(name, "_Z", 2) &&
		       !__gcclibcxx_demangle_callback(name, add_part, made);

	if (made)
		fclose(made);
	tell_string(mangled ? readable : name);
	free(readable);
}

/* What the linker calls it, else what the source does; empty if neither is known. */
static const char *name_of(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));

	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(function, DW_AT_name, &attribute));
	return name ? name : "";
}

static void tell_call(bool first, const char *function, const char *folder, const char *file,
		      int line)
{
	char *whole = NULL;

	if (file && folder && *file != '/' && asprintf(&whole, "%s/%s", folder, file) < 0)
		whole = NULL;
	printf("%s{\"FunctionName\":", first ? "" : ",");
	tell_name(function);
	printf(",\"FileName\":");
	tell_string(whole ? whole : file ? file : "");
	printf(",\"Line\":%d}", line);
	free(whole);
}

static bool is_function(Dwarf_Die *scope)
{
	int tag = dwarf_tag(scope);

	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_entry_point;
}

/* The scopes around an address as they are nested in the code, not in the source; to be freed. */
static int scopes_at(Dwfl_Module *module, Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
	Dwarf_Die *of_source = NULL, innermost;
	Dwarf_Addr bias;
	int n = dwarf_getscopes(unit, address, &of_source);

	n = n > 0 && dwarf_offdie(dwfl_module_getdwarf(module, &bias), dwarf_dieoffset(of_source),
				  &innermost)
		    ? dwarf_getscopes_die(&innermost, scopes)
		    : 0;
	free(of_source);
	return n;
}

static Dwarf_Word number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) ? 0 : value;
}

/* By debug information; false if that has no function there. */
static bool tell_scopes(Dwfl_Module *module, Dwarf_Addr address, const char *symbol,
			const char *file, int line)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *scopes = NULL;
	int n = unit ? scopes_at(module, unit, address - bias, &scopes) : 0;
	Dwarf_Attribute attribute;
	const char *folder =
		unit ? dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute)) : NULL;
	Dwarf_Files *files = NULL;
	bool first = true;

	if (unit)
		dwarf_getsrcfiles(unit, &files, NULL);
	for (int i = 0; i < n; i++) {
		const bool inlined = dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine;

		if (!is_function(&scopes[i]))
			continue;
		tell_call(first, inlined || !symbol ? name_of(&scopes[i]) : symbol, folder, file,
			  line);
		first = false;
		if (!inlined)
			break;
		file = files ? dwarf_filesrc(files, number(&scopes[i], DW_AT_call_file), NULL, NULL)
			     : NULL;
		line = (int)number(&scopes[i], DW_AT_call_line);
	}
	free(scopes);
	return !first;
}

static void tell_code(Dwfl_Module *module, Dwarf_Addr address)
{
	Dwfl_Line *row = dwfl_module_getsrc(module, address);
	const char *symbol = dwfl_module_addrname(module, address), *file = NULL;
	int line = 0;

	if (row)
		file = dwfl_lineinfo(row, NULL, &line, NULL, NULL, NULL);
	printf("{\"Address\":\"%#" PRIx64 "\",\"Symbol\":[", (uint64_t)address);
	if (!tell_scopes(module, address, symbol, file, line) && (symbol || file))
		tell_call(true, symbol ? symbol : "", row ? dwfl_line_comp_dir(row) : NULL, file,
			  line);
	printf("]}\n");
}

static void tell_data(Dwfl_Module *module, Dwarf_Addr address)
{
	GElf_Off inside;
	GElf_Sym symbol;
	const char *name =
		dwfl_module_addrinfo(module, address, &inside, &symbol, NULL, NULL, NULL);

	printf("{\"Address\":\"%#" PRIx64 "\"", (uint64_t)address);
	if (name && GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && inside < symbol.st_size) {
		printf(",\"Data\":{\"Name\":");
		tell_name(name);
		printf(",\"Start\":\"%#" PRIx64 "\",\"Size\":\"%#" PRIx64 "\"}",
		       (uint64_t)(address - inside), (uint64_t)symbol.st_size);
	}
	printf("}\n");
}

int main(int n, char **words)
{
	static const char data[] = "DATA ";
	Dwfl *dwfl;
	Dwfl_Module *module;
	char line[64];

	if (n != 2 || *words[1] == '-') {
		fprintf(stderr,
			"usage: overlock-symbolizer FILE, with addresses on standard input\n");
		return 2;
	}
	unsetenv("DEBUGINFOD_URLS");
	dwfl = dwfl_begin(&callbacks);
	/* Addresses are those of the file's own headers: nothing is added to them. */
	module = dwfl ? dwfl_report_elf(dwfl, words[1], words[1], -1, 0, true) : NULL;
	if (!module || dwfl_report_end(dwfl, NULL, NULL)) {
		fprintf(stderr, "overlock-symbolizer: %s: %s\n", words[1], dwfl_errmsg(-1));
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		const bool is_data = !strncmp(line, data, strlen(data));
		uint64_t address = strtoull(is_data ? line + strlen(data) : line, NULL, 16);

		(is_data ? tell_data : tell_code)(module, address);
	}
	dwfl_end(dwfl);
	return fflush(stdout) ? 1 : 0;
}
