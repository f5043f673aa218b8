/* SPDX-License-Identifier: MIT */
/* The file of a program whose names `overlock profile` asks for, after the address of one. */
#define main symbolizer_main
#include "profile/symbolizer.c"
#undef main
#include "profile/agent/words.c"

#include "must.h"

#include <sys/mman.h>
#include <unistd.h>

/* libdw forgets scopes where debug information is wrong; a process answers for one file, and ends. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* Nothing of this machine is read. */
static int no_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, char **file,
		   Elf **elf)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

static int no_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word sum, char **found)
{
	(void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)sum,
		(void)found;
	return -1;
}

static Dwfl_Module *reported(Dwfl *dwfl, const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("object", MFD_CLOEXEC);
	Dwfl_Module *module;

	must(fd >= 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n, "there is no file");
	module = dwfl_report_elf(dwfl, "object", "object", fd, 0, true);
	if (!module)
		close(fd); /* libdwfl closes it, if it takes it */
	return module;
}

/* One line of JSON: an object that ends where the line does. */
static void must_be_an_answer(const char *said, size_t n)
{
	bool in_string = false;
	unsigned depth = 0;

	must(n > 2 && said[0] == '{' && said[n - 1] == '\n', "an answer is no line");
	for (size_t i = 0; i < n - 1; i++) {
		must((unsigned char)said[i] >= ' ', "an answer is more than a line");
		if (said[i] == '\\' && in_string) {
			i++;
			continue;
		}
		in_string ^= said[i] == '"';
		depth += !in_string && (said[i] == '{' || said[i] == '[');
		depth -= !in_string && (said[i] == '}' || said[i] == ']');
		must(depth || i == n - 2, "an answer ends before its line");
	}
	must(!in_string && !depth, "an answer does not end");
}

static void ask(void (*tell)(Dwfl_Module *, Dwarf_Addr), Dwfl_Module *module, Dwarf_Addr address)
{
	FILE *usual = stdout;
	char *said = NULL;
	size_t n;

	stdout = open_memstream(&said, &n);
	must(stdout, "there is no memory");
	tell(module, address);
	fclose(stdout);
	stdout = usual;
	must_be_an_answer(said, n);
	free(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const Dwfl_Callbacks of_file = {
		.find_elf = no_file,
		.find_debuginfo = no_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	Dwarf_Addr address;
	Dwfl *dwfl;
	Dwfl_Module *module;

	(void)callbacks;
	if (n < sizeof(address))
		return 0;
	memcpy(&address, bytes, sizeof(address));
	dwfl = dwfl_begin(&of_file);
	must(dwfl, "there is no memory");
	module = reported(dwfl, bytes + sizeof(address), n - sizeof(address));
	if (module && !dwfl_report_end(dwfl, NULL, NULL)) {
		ask(tell_code, module, address);
		ask(tell_data, module, address);
	}
	dwfl_end(dwfl);
	return 0;
}
