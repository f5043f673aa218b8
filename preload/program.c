/* SPDX-License-Identifier: MIT */
/*
 * Programs, as the launcher looks at them: found as a shell finds them, and of the kind that a library
 * can be preloaded into. Why another kind cannot, elf.py of the Python command says.
 */
#include "launch.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	SCRIPTS_IN_A_ROW = 4, /* as many as Linux follows */
	LINE = 256	      /* as much of a script's first line as Linux reads */
};

/* How the file begins. */
union head {
	Elf64_Ehdr elf;
	char line[LINE + 1];
};

static bool can_execute(const char *path)
{
	struct stat s;

	return !stat(path, &s) && S_ISREG(s.st_mode) && !access(path, X_OK);
}

/*
 * An empty folder is the current one. Where PATH itself is empty or unset, whoever looks goes by rules
 * of its own.
 */
static char *on_path(const char *name)
{
	const char *folder = getenv("PATH"), *end;

	if (folder && !*folder)
		return 0;
	for (; folder; folder = *end ? end + 1 : 0) {
		const char *slash;
		char *path;

		end = strchrnul(folder, ':');
		slash = end > folder && end[-1] != '/' ? "/" : "";
		if (asprintf(&path, "%.*s%s%s", (int)(end - folder), folder, slash, name) < 0)
			return 0;
		if (can_execute(path))
			return path;
		free(path);
	}
	return 0;
}

char *find_program(const char *name)
{
	if (!strchr(name, '/'))
		return on_path(name);
	return can_execute(name) ? strdup(name) : 0;
}

/* Opens it and reads its beginning; what is missing of it is zero. -1 if it cannot be. */
static int open_head(const char *path, union head *head)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	memset(head, 0, sizeof(*head));
	if (fd >= 0 && pread(fd, head, LINE, 0) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Cuts the interpreter's name out of a script's first line; null if that is not all there. */
static char *interpreter(union head *head)
{
	char *end = strchr(head->line, '\n'), *rest;

	if (!end)
		return 0;
	*end = 0;
	return strtok_r(head->line + strlen("#!"), " \t", &rest);
}

static bool is_elf(const Elf64_Ehdr *elf)
{
	return !memcmp(elf->e_ident, ELFMAG, SELFMAG) && elf->e_ident[EI_CLASS] == ELFCLASS64;
}

/* The kernel runs it with our rights: otherwise the loader would drop LD_PRELOAD. */
static bool keeps_rights(int fd)
{
	struct stat s;

	return !fstat(fd, &s) && !(s.st_mode & (S_ISUID | S_ISGID)) &&
	       fgetxattr(fd, "security.capability", 0, 0) <= 0;
}

static bool read_at(int fd, void *into, size_t n, uint64_t at)
{
	return pread(fd, into, n, (off_t)at) == (ssize_t)n;
}

static bool read_segment(int fd, const Elf64_Ehdr *elf, unsigned i, Elf64_Phdr *p)
{
	return read_at(fd, p, sizeof(*p), elf->e_phoff + (uint64_t)i * elf->e_phentsize);
}

/* It asks for a dynamic loader, and for glibc's. */
static bool has_loader(int fd, const Elf64_Ehdr *elf)
{
	Elf64_Phdr p;

	for (unsigned i = 0; i < elf->e_phnum && read_segment(fd, elf, i, &p); i++) {
		char loader[LINE + 1] = "";

		if (p.p_type == PT_INTERP)
			return p.p_filesz <= LINE && read_at(fd, loader, p.p_filesz, p.p_offset) &&
			       !strstr(loader, "ld-musl");
	}
	return false;
}

/* Where its names lie, those of libraries and symbols that the loader looks for. */
struct names {
	uint64_t address, size;
};

static void find_names(int fd, const Elf64_Phdr *dynamic, struct names *found)
{
	Elf64_Dyn entry;

	for (uint64_t at = 0; at < dynamic->p_filesz; at += sizeof(entry)) {
		if (!read_at(fd, &entry, sizeof(entry), dynamic->p_offset + at))
			return;
		if (entry.d_tag == DT_STRTAB)
			found->address = entry.d_un.d_ptr;
		if (entry.d_tag == DT_STRSZ)
			found->size = entry.d_un.d_val;
	}
}

/* As elf.py: their runtimes come first, or they see half of the locks. */
static bool names_sanitizer(const char *names, size_t size)
{
	static const char *const known[] = { "libasan.so", "libhwasan.so", "liblsan.so",
					     "__tsan_init" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (memmem(names, size, known[i], strlen(known[i])))
			return true;
	return false;
}

/* Whether a sanitizer has to be looked after; also if that cannot be told. */
static bool may_have_sanitizer(int fd, const Elf64_Ehdr *elf)
{
	struct names found = { 0, 0 };
	bool may_have = true;
	Elf64_Phdr p;
	char *names;

	for (unsigned i = 0; i < elf->e_phnum && read_segment(fd, elf, i, &p); i++)
		if (p.p_type == PT_DYNAMIC)
			find_names(fd, &p, &found);
	for (unsigned i = 0; i < elf->e_phnum && read_segment(fd, elf, i, &p); i++) {
		if (p.p_type != PT_LOAD || found.address - p.p_vaddr >= p.p_filesz)
			continue;
		names = malloc(found.size);
		if (names && read_at(fd, names, found.size, p.p_offset + found.address - p.p_vaddr))
			may_have = names_sanitizer(names, found.size);
		free(names);
		break;
	}
	return may_have;
}

static bool is_of_machine(const Elf64_Ehdr *elf, const char *library)
{
	union head head;
	int fd = open_head(library, &head);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && is_elf(&head.elf) && head.elf.e_machine == elf->e_machine;
}

bool takes_library(const char *program, const char *library)
{
	union head head;
	int fd = open_head(program, &head);
	bool fits;

	for (int i = 0; fd >= 0 && !memcmp(head.line, "#!", 2); i++) {
		char *next = i < SCRIPTS_IN_A_ROW ? interpreter(&head) : 0, *name = 0;

		close(fd);
		fd = -1;
		if (next && can_execute(next) && (name = strdup(next)))
			fd = open_head(name, &head);
		free(name);
	}
	if (fd < 0)
		return false;
	fits = is_elf(&head.elf) && is_of_machine(&head.elf, library) && keeps_rights(fd) &&
	       has_loader(fd, &head.elf) && !may_have_sanitizer(fd, &head.elf);
	close(fd);
	return fits;
}
