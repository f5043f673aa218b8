/* SPDX-License-Identifier: MIT */
/*
 * Programs, as the launcher and the Python command look at them: found as a shell finds them, and of
 * the kind that a library can be preloaded into.
 */
#include "launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
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

static bool is_folder(const char *path)
{
	struct stat s;

	return !stat(path, &s) && S_ISDIR(s.st_mode);
}

static bool can_execute(const char *path)
{
	return !access(path, X_OK) && !is_folder(path);
}

static bool is_file(const char *path)
{
	struct stat s;

	return !stat(path, &s) && S_ISREG(s.st_mode);
}

/* The first file of that name in PATH that `fits`. An empty folder in the list is the current one. */
static char *on_path(const char *name, bool (*fits)(const char *))
{
	const char *folder = getenv("PATH"), *end;

	if (!folder)
		folder = "/bin:/usr/bin";
	for (; folder && *name; folder = *end ? end + 1 : 0) {
		const char *slash;
		char *path;

		end = strchrnul(folder, ':');
		slash = end > folder && end[-1] != '/' ? "/" : "";
		if (asprintf(&path, "%.*s%s%s", (int)(end - folder), folder, slash, name) < 0)
			refuse(CANNOT_START, "no memory");
		if (fits(path))
			return path;
		free(path);
	}
	return 0;
}

char *find_program(const char *name)
{
	char *path = strchr(name, '/') ? strdup(name) : on_path(name, can_execute);

	if (!path && !(path = on_path(name, is_file)))
		refuse(NOT_FOUND, "no program %s on PATH; check the name", name);
	if (access(path, F_OK))
		refuse(NOT_FOUND, "%s does not exist; check the name", path);
	if (is_folder(path))
		refuse(CANNOT_EXECUTE, "%s is a folder; give a program", path);
	if (access(path, X_OK))
		refuse(CANNOT_EXECUTE, "%s is not executable; give a program", path);
	return path;
}

struct file {
	char *path;
	int fd;	      /* -1 if it cannot be read: the kernel will say what is wrong with it */
	ssize_t size; /* of its head */
	union {
		char line[LINE + 1];
		Elf64_Ehdr elf;
	} head; /* zeros behind its end */
};

/* Does not wait for the writer of a pipe. */
static struct file open_file(const char *path)
{
	struct file f = { .path = strdup(path),
			  .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };

	f.size = f.fd < 0 ? 0 : pread(f.fd, &f.head, LINE, 0);
	return f;
}

static void close_file(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
}

/* The file that the kernel will execute, behind scripts. */
static struct file open_executed(const char *program)
{
	struct file f = open_file(program), next;

	for (int i = 0; i < SCRIPTS_IN_A_ROW && !memcmp(f.head.line, "#!", 2); i++) {
		char *rest, *interpreter;

		f.head.line[strcspn(f.head.line, "\n")] = 0;
		interpreter = strtok_r(f.head.line + strlen("#!"), " \t", &rest);
		if (!interpreter)
			break;
		next = open_file(interpreter);
		close_file(&f);
		f = next;
	}
	return f;
}

static bool is_elf(const struct file *f)
{
	return f->size >= (ssize_t)sizeof(f->head.elf) &&
	       !memcmp(f->head.elf.e_ident, ELFMAG, SELFMAG);
}

/* Of the same word size and processor. */
static bool is_of_machine(const struct file *f, const char *path)
{
	struct file other = open_file(path);
	const Elf64_Ehdr *a = &f->head.elf, *b = &other.head.elf;
	bool same = a->e_ident[EI_CLASS] == b->e_ident[EI_CLASS] && a->e_machine == b->e_machine;

	close_file(&other);
	return same;
}

/* The kernel runs it with other rights than ours: then the loader drops LD_PRELOAD. */
static bool changes_rights(int fd)
{
	struct stat s;

	if (fstat(fd, &s))
		return false;
	return ((s.st_mode & S_ISUID) && s.st_uid != getuid()) ||
	       ((s.st_mode & S_ISGID) && s.st_gid != getgid()) ||
	       (getuid() && fgetxattr(fd, "security.capability", 0, 0) > 0);
}

static bool read_at(int fd, void *into, size_t n, uint64_t at)
{
	return pread(fd, into, n, (off_t)at) == (ssize_t)n;
}

static bool read_segment(const struct file *f, unsigned i, Elf64_Phdr *p)
{
	const Elf64_Ehdr *elf = &f->head.elf;

	return i < elf->e_phnum &&
	       read_at(f->fd, p, sizeof(*p), elf->e_phoff + (uint64_t)i * elf->e_phentsize);
}

static bool find_segment(const struct file *f, uint32_t type, Elf64_Phdr *p)
{
	for (unsigned i = 0; read_segment(f, i, p); i++)
		if (p->p_type == type)
			return true;
	return false;
}

static bool read_entry(const struct file *f, const Elf64_Phdr *dynamic, uint64_t i, Elf64_Dyn *e)
{
	return i < dynamic->p_filesz / sizeof(*e) &&
	       read_at(f->fd, e, sizeof(*e), dynamic->p_offset + i * sizeof(*e));
}

static uint64_t value_of(const struct file *f, const Elf64_Phdr *dynamic, int64_t tag)
{
	Elf64_Dyn e;

	for (uint64_t i = 0; read_entry(f, dynamic, i, &e); i++)
		if (e.d_tag == tag)
			return e.d_un.d_val;
	return 0;
}

/* A table may claim any size. */
static bool is_within_file(const struct file *f, uint64_t size)
{
	struct stat s;

	return !fstat(f->fd, &s) && size <= (uint64_t)s.st_size;
}

/* The names of libraries and symbols that the loader looks for; null if there are none. */
static char *read_names(const struct file *f, const Elf64_Phdr *dynamic, size_t size)
{
	uint64_t address = value_of(f, dynamic, DT_STRTAB);
	Elf64_Phdr p;
	char *names;

	if (!is_within_file(f, size))
		return 0;
	for (unsigned i = 0; read_segment(f, i, &p); i++) {
		if (p.p_type != PT_LOAD || address - p.p_vaddr >= p.p_filesz)
			continue;
		names = calloc(1, size + 1);
		if (names && read_at(f->fd, names, size, p.p_offset + address - p.p_vaddr))
			return names;
		free(names);
		break;
	}
	return 0;
}

/*
 * A runtime of GCC's AddressSanitizer, with its version: it refuses to start unless it comes before all others.
 * Nothing else may be in the name, at which the loader would split its list.
 */
static bool comes_first(const char *library)
{
	static const char *const known[] = { "libasan.so", "libhwasan.so", "liblsan.so" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t n = strlen(known[i]);

		if (!strncmp(library, known[i], n) &&
		    !library[n + strspn(library + n, ".0123456789")])
			return true;
	}
	return false;
}

/* Why the library cannot be preloaded into the ELF file; null if it can. */
static const char *obstacle(const struct file *f, const char *names, size_t size)
{
	static const char tsan[] = "\0__tsan_init"; /* start.c says why */
	char loader[LINE + 1] = "";
	Elf64_Phdr p;

	if (!find_segment(f, PT_INTERP, &p))
		return "is statically linked, so no library can be preloaded";
	if (p.p_filesz <= LINE && read_at(f->fd, loader, p.p_filesz, p.p_offset) &&
	    strstr(loader, "ld-musl"))
		return "uses musl, but the interposer needs glibc";
	if (changes_rights(f->fd))
		return "is setuid, setgid or has capabilities, so the system ignores LD_PRELOAD";
	if (names && memmem(names, size, tsan, sizeof(tsan)))
		return "is built with ThreadSanitizer, which would miss the replaced locks";
	return 0;
}

static void print_preloaded(FILE *out, const struct file *f, const char *libraries)
{
	/* They are all of one machine. */
	const char *colon = strrchr(libraries, ':'), *library = colon ? colon + 1 : libraries;
	const char *base = strrchr(library, '/'), *why;
	Elf64_Phdr dynamic = { 0 };
	char *names = 0;
	size_t size = 0;
	Elf64_Dyn e;

	if (!is_of_machine(f, library))
		refuse(CANNOT_START,
		       "%s and %s are for different processors; run it without overlock", f->path,
		       base ? base + 1 : library);
	if (find_segment(f, PT_DYNAMIC, &dynamic)) {
		size = value_of(f, &dynamic, DT_STRSZ);
		names = read_names(f, &dynamic, size);
	}
	why = obstacle(f, names, size);
	if (why)
		refuse(CANNOT_START, "%s %s; run it without overlock", f->path, why);
	for (uint64_t i = 0; names && read_entry(f, &dynamic, i, &e); i++)
		if (e.d_tag == DT_NEEDED && e.d_un.d_val < size &&
		    comes_first(names + e.d_un.d_val))
			fprintf(out, "%s:", names + e.d_un.d_val);
	free(names);
}

char *preloaded_into(const char *program, const char *libraries)
{
	struct file f = open_executed(program);
	char *list = 0;
	size_t size;
	FILE *out = open_memstream(&list, &size);

	if (!out)
		refuse(CANNOT_START, "no memory");
	if (is_elf(&f))
		print_preloaded(out, &f, libraries);
	fputs(libraries, out);
	if (fclose(out))
		refuse(CANNOT_START, "no memory");
	close_file(&f);
	return list;
}
