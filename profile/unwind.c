/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "unwind.h"
#include "scan.h"
#include <dirent.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_MODULES = 1024, REGISTERS = 17, WORD = 8, PATH_BYTES = 4096 };
enum { BUILD_BYTES = 20, IDENTITY_BYTES = 2 * BUILD_BYTES + 1 };

/* Of a file that was mapped; another may have its name by now, or somewhere else. */
struct object {
	char *path;
	char identity[IDENTITY_BYTES]; /* its build ID, else SIZE@MTIME; empty: not known */
};

static struct {
	Dwfl *dwfl;
	pid_t process;
	pid_t living; /* a thread of it, by which its memory is looked at */
	bool attached;
	Elf *own;
	uint64_t opened, looked; /* when the process's objects were read first, and last, in ns */
	uint64_t spent;		 /* on that */
	const struct stack_record *record; /* that is unwound */
	struct frame *frames;
	unsigned n;
	struct object modules[MOST_MODULES];
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

static bool has_memory(pid_t thread)
{
	char path[64];
	FILE *maps;
	bool has;

	snprintf(path, sizeof(path), "/proc/%d/maps", thread);
	maps = fopen(path, "re");
	has = maps && fgetc(maps) != EOF;
	if (maps)
		fclose(maps);
	return has;
}

/* The first thread may have ended before the others, and shows no memory then. */
static pid_t living_thread(void)
{
	char path[64];
	struct dirent *entry;
	pid_t found = now.process;
	DIR *folder;

	if (has_memory(found))
		return found;
	snprintf(path, sizeof(path), "/proc/%d/task", now.process);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (atoi(entry->d_name) && has_memory(atoi(entry->d_name))) {
			found = atoi(entry->d_name);
			break;
		}
	if (folder)
		closedir(folder);
	return found;
}

/* The part of a file that is mapped there. */
struct mapping {
	uint64_t begin, end, offset; /* end 0: there is none */
};

static struct mapping mapping_at(Dwarf_Addr begin)
{
	struct mapping found = { .begin = begin };
	char path[64], line[PATH_BYTES];
	uint64_t from, to, offset;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", now.living);
	maps = fopen(path, "re");
	while (maps && !found.end && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &from, &to, &offset) ==
			    3 &&
		    from == begin)
			found = (struct mapping){ from, to, offset };
	if (maps)
		fclose(maps);
	return found;
}

/* Its name without what the kernel adds to that of a file that was removed; null: no memory. */
static char *name_of(const char *link)
{
	static const char removed[] = " (deleted)";
	char name[PATH_BYTES];
	ssize_t n = readlink(link, name, sizeof(name) - 1);

	if (n < 0)
		return NULL;
	name[n] = 0;
	if ((size_t)n >= sizeof(removed) && !strcmp(name + n - (sizeof(removed) - 1), removed))
		name[n - (ssize_t)(sizeof(removed) - 1)] = 0;
	return strdup(name);
}

/*
 * The file that is mapped, in whatever container, whatever has its name by now. Its name comes from the
 * link, too: /proc/PID/maps writes line breaks otherwise.
 */
static int open_mapped(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		       char **file, Elf **elf, const struct mapping *mapping)
{
	static const char vdso[] = "[vdso: ";
	char link[96];
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, now.living,
		 mapping->begin, mapping->end);
	fd = mapping->end ? open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd >= 0) {
		*file = name_of(link);
		return fd;
	}
	if (!strncmp(name, vdso, sizeof(vdso) - 1)) { /* it is read by a thread's memory */
		snprintf(link, sizeof(link), "%s%d]", vdso, now.living);
		name = link;
	}
	return dwfl_linux_proc_find_elf(module, user, name, base, file, elf);
}

/* What is kept with a module: what tells it from another file without build ID, and what of it is mapped first. */
struct kept {
	char identity[IDENTITY_BYTES];
	struct mapping mapping;
	dev_t device;
	ino_t file;
};

static int find_mapped(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		       char **file, Elf **elf)
{
	struct mapping mapping = { 0 };
	struct kept *kept;
	struct stat s;
	int fd;

	now.living = living_thread();
	if (name[0] == '/')
		mapping = mapping_at(base);
	fd = open_mapped(module, user, name, base, file, elf, &mapping);
	if (fd < 0 || *user || fstat(fd, &s) || !(*user = kept = malloc(sizeof(*kept))))
		return fd;
	snprintf(kept->identity, IDENTITY_BYTES, "%lld@%lld.%09ld", (long long)s.st_size,
		 (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
	kept->mapping = mapping;
	kept->device = s.st_dev;
	kept->file = s.st_ino;
	return fd;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_mapped,
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

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * The objects are read again for each address in none of them, as of a library that was loaded since. Of code
 * without an object there may be many addresses: no more than a twentieth of the time goes into that, but for
 * a program's start, when its libraries come.
 */
enum { START_NS = 100000000, ONE_IN = 20 };

static bool may_read_again(void)
{
	return now.spent <= START_NS + (now_ns() - now.opened) / ONE_IN;
}

/* Of a file's mappings, those that follow each other with offsets that do not decrease. */
struct image {
	unsigned number, major, minor;
	uint64_t file, offset;
};

/* Modules as they were. One that something else is mapped over has gone; others may be asked for still. */
struct former {
	char *name;
	uint64_t from, end;
	bool gone;
};

static struct {
	struct former modules[MOST_MODULES];
	unsigned n;
} former;

static int remember(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr low, void *arg)
{
	struct former *f = &former.modules[former.n];
	Dwarf_Addr end;

	(void)user, (void)arg;
	dwfl_module_info(module, NULL, NULL, &end, NULL, NULL, NULL, NULL);
	*f = (struct former){ strdup(name), low, end, false };
	return f->name && ++former.n < MOST_MODULES ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static void report_former(void)
{
	for (unsigned i = 0; i < former.n; i++) {
		const struct former *f = &former.modules[i];

		if (!f->gone)
			dwfl_report_module(now.dwfl, f->name, f->from, f->end);
		free(f->name);
	}
	former.n = 0;
}

/* The line with its image's number in place of the file's. */
static void tell_mapping(FILE *to, const char *line, struct image *last)
{
	struct image is = { .number = last->number };
	uint64_t from, end;
	int name = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %n", &from,
		   &end, &is.offset, &is.major, &is.minor, &is.file, &name) < 6)
		return;
	for (unsigned i = 0; i < former.n; i++)
		former.modules[i].gone |=
			from < former.modules[i].end && former.modules[i].from < end;
	if (!strcmp(line + name, "[vdso]\n")) {
		char vdso[32];

		snprintf(vdso, sizeof(vdso), "[vdso: %d]", now.living);
		dwfl_report_module(now.dwfl, vdso, from, end);
	}
	if (line[name] != '/' || !strchr(line + name, '\n')) /* a longer name than there may be */
		return;
	if (is.file != last->file || is.major != last->major || is.minor != last->minor ||
	    is.offset < last->offset)
		is.number++;
	fprintf(to, "%" PRIx64 "-%" PRIx64 " r--p %" PRIx64 " 0:1 %u %s", from, end, is.offset,
		is.number, line + name);
	*last = is;
}

/*
 * libdwfl takes all mappings of a file in a row for one module, however far apart. V8 maps its own code a second
 * time; so they are told as mappings of two files.
 */
static void report_modules(void)
{
	char path[64], line[2 * PATH_BYTES], *text = NULL;
	struct image last = { 0 };
	size_t bytes;
	FILE *maps, *told = open_memstream(&text, &bytes);

	if (!told)
		return;
	snprintf(path, sizeof(path), "/proc/%d/maps", now.living);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps))
		tell_mapping(told, line, &last);
	if (maps)
		fclose(maps);
	fclose(told);
	told = bytes ? fmemopen(text, bytes, "r") : NULL;
	if (told) {
		dwfl_linux_proc_maps_report(now.dwfl, told);
		fclose(told);
	}
	free(text);
}

static void map(void)
{
	uint64_t begin = now_ns();

	now.living = living_thread();
	scan_forget();
	dwfl_getmodules(now.dwfl, remember, NULL, 0);
	dwfl_report_begin(now.dwfl);
	report_modules();
	report_former();
	dwfl_report_end(now.dwfl, NULL, NULL);
	now.looked = now_ns();
	now.spent += now.looked - begin;
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

void unwind_look(void)
{
	if (now.dwfl && now_ns() - now.looked >= now.looked - now.opened && may_read_again())
		map();
}

bool unwind_open(pid_t process)
{
	now.process = process;
	now.opened = now_ns();
	unwind_begin();
	return now.dwfl;
}

static void write_identity(Elf *elf, const char *otherwise, char *identity)
{
	const void *bits;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &bits);

	snprintf(identity, IDENTITY_BYTES, "%s", n > 0 || !otherwise ? "" : otherwise);
	for (ssize_t i = 0; i < n && i < BUILD_BYTES; i++)
		snprintf(identity + 2 * i, 3, "%02x", ((const unsigned char *)bits)[i]);
}

static int32_t number_of(const char *path, const char *identity)
{
	struct object *o = &now.modules[now.known];

	for (unsigned i = 0; i < now.known; i++)
		if (!strcmp(now.modules[i].path, path) &&
		    !strcmp(now.modules[i].identity, identity))
			return (int32_t)i;
	if (now.known == MOST_MODULES || !(o->path = strdup(path)))
		return -1;
	memcpy(o->identity, identity, IDENTITY_BYTES);
	return (int32_t)now.known++;
}

static Dwfl_Module *module_of(uint64_t address)
{
	Dwfl_Module *module = now.dwfl ? dwfl_addrmodule(now.dwfl, address) : NULL;

	if (module || !now.dwfl || !may_read_again())
		return module;
	map();
	return dwfl_addrmodule(now.dwfl, address);
}

static const struct kept *kept_of(Dwfl_Module *module)
{
	void **user;

	dwfl_module_info(module, &user, NULL, NULL, NULL, NULL, NULL, NULL);
	return *user;
}

/* The address in the file of what has that offset; false: it loads nothing from there. */
static bool find_address(Elf *elf, uint64_t offset, uint64_t *address)
{
	GElf_Phdr s;
	size_t n = 0;

	elf_getphdrnum(elf, &n);
	for (int i = 0; i < (int)n; i++)
		if (gelf_getphdr(elf, i, &s) && s.p_type == PT_LOAD &&
		    offset - s.p_offset < s.p_filesz) {
			*address = offset - s.p_offset + s.p_vaddr;
			return true;
		}
	return false;
}

static bool is_loaded(Elf *elf, uint64_t address)
{
	GElf_Phdr s;
	size_t n = 0;

	elf_getphdrnum(elf, &n);
	for (int i = 0; i < (int)n; i++)
		if (gelf_getphdr(elf, i, &s) && s.p_type == PT_LOAD &&
		    address - s.p_vaddr < s.p_memsz)
			return true;
	return false;
}

/* The file that is there, and the address in it; null: it has none. */
static Elf *file_at(Dwfl_Module *module, uint64_t address, uint64_t *in_file)
{
	GElf_Addr bias;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	const struct kept *kept = elf ? kept_of(module) : NULL;

	if (!elf)
		return NULL;
	/* Code may be mapped again, without what is before it in its file. */
	if (kept && kept->mapping.offset)
		return find_address(elf, address - kept->mapping.begin + kept->mapping.offset,
				    in_file)
			       ? elf
			       : NULL;
	*in_file = address - bias;
	return is_loaded(elf, *in_file) ? elf : NULL;
}

static bool is_still_mapped(const struct kept *kept)
{
	const struct mapping *m = &kept->mapping;
	char link[96];
	struct stat s;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, now.living,
		 m->begin, m->end);
	/* It may have been gone already when its file was opened. */
	return !m->begin ||
	       (m->end && !stat(link, &s) && s.st_dev == kept->device && s.st_ino == kept->file);
}

void unwind_check(uint64_t address)
{
	Dwfl_Module *module = module_of(address);
	const struct kept *kept = module ? kept_of(module) : NULL;

	if (kept && !is_still_mapped(kept) && may_read_again())
		map();
}

static struct frame frame_in(Dwfl_Module *module, uint64_t address)
{
	const char *file = NULL, *name;
	char identity[IDENTITY_BYTES];
	const struct kept *kept;
	uint64_t in_file;
	Elf *elf = file_at(module, address, &in_file);

	if (!elf)
		return (struct frame){ -1, address };
	name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &file, NULL);
	kept = kept_of(module);
	write_identity(elf, kept ? kept->identity : NULL, identity);
	return (struct frame){ number_of(file ? file : name, identity), in_file };
}

struct frame unwind_find(uint64_t address)
{
	return frame_in(module_of(address), address);
}

struct frame unwind_known(uint64_t address)
{
	return frame_in(now.dwfl ? dwfl_addrmodule(now.dwfl, address) : NULL, address);
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

static bool has_row(Dwarf_CFI *tables, Dwarf_Addr pc)
{
	Dwarf_Frame *row = NULL;
	bool found = tables && !dwarf_cfi_addrframe(tables, pc, &row);

	free(row);
	return found;
}

/* Without one, libdw follows frame pointers, and so skips callers where there are none. */
static bool has_tables(uint64_t pc)
{
	Dwfl_Module *module = module_of(pc);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *tables;

	if (!module)
		return true;
	tables = dwfl_module_eh_cfi(module, &bias);
	if (has_row(tables, pc - bias))
		return true;
	tables = dwfl_module_dwarf_cfi(module, &bias);
	return has_row(tables, pc - bias);
}

static void scan(const struct stack_record *record)
{
	struct scanned_call calls[(MOST_FRAMES - 1) / 2];
	unsigned n =
		now.dwfl ? scan_stack(now.dwfl, record, calls, sizeof(calls) / sizeof(*calls)) : 0;

	now.frames[now.n++] = unwind_find(record->at.ip);
	for (unsigned i = 0; i < n; i++) {
		now.frames[now.n++] = unwind_find(calls[i].target);
		now.frames[now.n++] = unwind_find(calls[i].caller);
	}
}

/* For what libdw has to know of the processor: else it takes that from a module, which may go. */
static Elf *own_elf(void)
{
	if (!now.own) {
		int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

		elf_version(EV_CURRENT);
		now.own = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	}
	return now.own;
}

unsigned unwind_stack(const struct stack_record *record, struct frame *frames, bool *scanned)
{
	now.record = record;
	now.frames = frames;
	now.n = 0;
	*scanned = !has_tables(record->at.ip);
	if (*scanned) {
		scan(record);
		return now.n;
	}
	if (!now.attached)
		now.attached =
			dwfl_attach_state(now.dwfl, own_elf(), now.process, &of_threads, NULL);
	if (now.attached)
		dwfl_getthread_frames(now.dwfl, (pid_t)record->thread, add_frame, NULL);
	if (!now.n)
		frames[now.n++] = unwind_find(record->at.ip);
	return now.n;
}

const char *unwind_module(unsigned number)
{
	return number < now.known ? now.modules[number].path : NULL;
}

const char *unwind_identity(unsigned number)
{
	return now.modules[number].identity;
}

void unwind_close(void)
{
	if (now.dwfl)
		dwfl_end(now.dwfl);
}
