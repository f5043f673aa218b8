/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses; symbols.h says under what conditions. The loader's list is read by
 * _dl_find_object(), which takes no lock; symbols come from the object's file, because a program's own
 * functions are in .symtab only, which is not loaded.
 */
#include "symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* The objects in memory. */

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* <dlfcn.h> of glibc 2.35 or later */
static int (*find_object)(void *address, struct dl_find_object *found);

bool ol_run_objects_start(void)
{
	void *f = dlvsym(RTLD_NEXT, "_dl_find_object", "GLIBC_2.35");

	memcpy(&find_object, &f, sizeof(f));
	return f != 0;
}

bool ol_run_object_at(const void *address, struct object *found)
{
	struct dl_find_object at;

	if (!find_object || find_object((void *)(uintptr_t)address, &at))
		return false;
	found->path = at.dlfo_link_map->l_name;
	found->start = (uintptr_t)at.dlfo_map_start;
	found->end = (uintptr_t)at.dlfo_map_end;
	found->base = at.dlfo_link_map->l_addr;
	found->dynamic = at.dlfo_link_map->l_ld;
	if (!*found->path)
		found->path = "/proc/self/exe";
	return true;
}
#else
bool ol_run_objects_start(void)
{
	return false;
}

bool ol_run_object_at(const void *address, struct object *found)
{
	(void)address;
	(void)found;
	return false;
}
#endif

const char *ol_run_object_name(const struct object *o)
{
	const char *slash = strrchr(o->path, '/');

	if (!strcmp(o->path, "/proc/self/exe"))
		return program_invocation_short_name;
	return slash ? slash + 1 : o->path;
}

/* Their files. */

struct file {
	const char *bytes;
	size_t size;
};

/* By the bare calls: open() and close() are cancellation points. */
static struct file map_file(const char *path)
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	struct file f = { 0 };
	struct stat st;
	void *p;

	if (fd < 0)
		return f;
	if (!fstat((int)fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		p = mmap(0, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, (int)fd, 0);
		if (p != MAP_FAILED)
			f = (struct file){ p, (size_t)st.st_size };
	}
	syscall(SYS_close, fd);
	return f;
}

/* `n` things of `size` bytes at `offset`; null if they are not all there. */
static const void *bytes_at(const struct file *f, uint64_t offset, uint64_t n, size_t size)
{
	return offset > f->size || n > (f->size - offset) / size ? 0 : f->bytes + offset;
}

/* The same; null, too, if they are askew. */
static const void *part(const struct file *f, uint64_t offset, uint64_t n, size_t size)
{
	return offset % _Alignof(ElfW(Sym)) ? 0 : bytes_at(f, offset, n, size);
}

static const ElfW(Shdr) * sections(const struct file *f, size_t *n)
{
	const ElfW(Ehdr) *head = part(f, 0, 1, sizeof(*head));

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
	    head->e_shentsize != sizeof(ElfW(Shdr)))
		return 0;
	*n = head->e_shnum;
	return part(f, head->e_shoff, *n, sizeof(ElfW(Shdr)));
}

static const ElfW(Shdr) * find_section(const ElfW(Shdr) * all, size_t n, uint32_t type)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].sh_type == type && all[i].sh_link < n)
			return &all[i];
	return 0;
}

struct names {
	const char *at;
	size_t size;
};

/* A string that ends within its table; empty if it does not. */
static const char *name_in(const struct names *names, size_t offset)
{
	if (offset >= names->size || !memchr(names->at + offset, 0, names->size - offset))
		return "";
	return names->at + offset;
}

static bool is_defined(const ElfW(Sym) * s)
{
	unsigned type = s->st_info & 0xf;

	return s->st_shndx != SHN_UNDEF && s->st_size &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT);
}

static void each_in(const struct file *f, uintptr_t base,
		    bool (*each)(const struct symbol *s, void *arg), void *arg)
{
	const ElfW(Shdr) * all, *table, *strings;
	struct names names;
	const ElfW(Sym) * symbols;
	size_t n;

	all = sections(f, &n);
	table = all ? find_section(all, n, SHT_SYMTAB) : 0;
	if (all && !table)
		table = find_section(all, n, SHT_DYNSYM); /* it is stripped */
	if (!table)
		return;
	strings = &all[table->sh_link];
	names.at = bytes_at(f, strings->sh_offset, strings->sh_size, 1);
	names.size = strings->sh_size;
	n = table->sh_size / sizeof(*symbols);
	symbols = part(f, table->sh_offset, n, sizeof(*symbols));
	if (!symbols || !names.at)
		return;
	for (size_t i = 0; i < n; i++) {
		const ElfW(Sym) *s = &symbols[i];
		struct symbol found = { name_in(&names, s->st_name), base + s->st_value,
					base + s->st_value + s->st_size,
					(s->st_info & 0xf) != STT_OBJECT };

		if (is_defined(s) && *found.name && !each(&found, arg))
			return;
	}
}

void ol_run_symbols_each(const struct object *o, bool (*each)(const struct symbol *s, void *arg),
			 void *arg)
{
	int saved = errno;
	struct file f = map_file(o->path);

	if (f.bytes) {
		each_in(&f, o->base, each, arg);
		munmap((void *)(uintptr_t)f.bytes, f.size);
	}
	errno = saved;
}

/* C++ names. */

static bool text_grow(struct string *t, size_t least)
{
	size_t size = t->size ? t->size : 4096;
	void *p;

	while (size < least)
		size *= 2;
	p = t->at ? mremap(t->at, t->size, size, MREMAP_MAYMOVE)
		  : mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	t->at = p;
	t->size = size;
	return true;
}

void ol_run_string_free(struct string *t)
{
	if (t->at)
		munmap(t->at, t->size);
	*t = (struct string){ 0 };
}

void ol_run_string_add(const char *piece, size_t n, void *text)
{
	struct string *t = text;

	if (t->used + n >= t->size && !text_grow(t, t->used + n + 1))
		return;
	memcpy(t->at + t->used, piece, n);
	t->used += n;
	t->at[t->used] = 0;
}

/* What stands between `%` and the letter. */
struct form {
	bool alternate, left, zeros, is_long;
	size_t width;
};

static struct form read_form(const char **format)
{
	struct form form = { 0 };
	const char *f = *format;

	for (; strchr("#-0", *f); f++) {
		form.alternate |= *f == '#';
		form.left |= *f == '-';
		form.zeros |= *f == '0';
	}
	for (; *f >= '0' && *f <= '9'; f++)
		form.width = 10 * form.width + (size_t)(*f - '0');
	for (; *f == 'l' || *f == 'z'; f++)
		form.is_long = true;
	*format = f;
	return form;
}

static void add_formed(struct string *t, const struct form *form, const char *text)
{
	size_t n = strlen(text);

	if (form->left)
		ol_run_string_add(text, n, t);
	for (size_t i = n; i < form->width; i++)
		ol_run_string_add(form->zeros ? "0" : " ", 1, t);
	if (!form->left)
		ol_run_string_add(text, n, t);
}

static void add_number(struct string *t, const struct form *form, uint64_t n, unsigned base)
{
	char digits[32] = ""; /* ends with a zero */
	char *first = digits + sizeof(digits) - 1;
	uint64_t rest = n;

	do
		*--first = "0123456789abcdef"[rest % base];
	while (rest /= base);
	if (form->alternate && n) {
		*--first = 'x';
		*--first = '0';
	}
	add_formed(t, form, first);
}

/* va_list may be an array, and a pointer to one that was passed is no pointer to it. */
struct arguments {
	va_list list;
};

static void add_argument(struct string *t, const char **format, struct arguments *args)
{
	struct form form = read_form(format);
	char letter[2] = "", kind = *(*format)++;

	switch (kind) {
	case 's':
		add_formed(t, &form, va_arg(args->list, const char *));
		break;
	case 'c':
		*letter = (char)va_arg(args->list, int);
		add_formed(t, &form, letter);
		break;
	case 'p':
		form.alternate = true;
		add_number(t, &form, (uintptr_t)va_arg(args->list, const void *), 16);
		break;
	case 'x':
	case 'u':
		add_number(t, &form,
			   form.is_long ? va_arg(args->list, unsigned long)
					: va_arg(args->list, unsigned),
			   kind == 'x' ? 16 : 10);
		break;
	default:
		__builtin_unreachable();
	}
}

/* Not by stdio, which asks the locale and the program's own conversions, and may allocate. */
void ol_run_string_put(struct string *t, const char *format, ...)
{
	struct arguments args;

	va_start(args.list, format);
	while (*format) {
		size_t n = strcspn(format, "%");

		ol_run_string_add(format, n, t);
		format += n;
		if (*format++)
			add_argument(t, &format, &args);
		else
			break;
	}
	va_end(args.list);
}

void ol_run_string_quote(struct string *t, const char *s)
{
	ol_run_string_put(t, "\"");
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		ol_run_string_put(t, c < 0x20 || c == '"' || c == '\\' ? "\\u%04x" : "%c", c);
	}
	ol_run_string_put(t, "\"");
}

/*
 * libstdc++'s demangler in the form that needs no memory, linked in from its static library: the
 * program may have none, and to look for it would take the loader's lock.
 */
int __gcclibcxx_demangle_callback(const char *name, void (*add)(const char *, size_t, void *),
				  void *arg);

const char *ol_run_demangle(struct string *t, const char *name)
{
	t->used = 0;
	if (strncmp(name, "_Z", 2) != 0 ||
	    __gcclibcxx_demangle_callback(name, ol_run_string_add, t))
		return 0;
	return t->at;
}

struct lookup {
	uintptr_t address;
	bool function;
	struct string *name;
};

static bool take_name(const struct symbol *s, void *arg)
{
	struct lookup *l = arg;

	if (s->is_function != l->function || l->address < s->start || l->address >= s->end)
		return true;
	ol_run_string_add(s->name, strlen(s->name), l->name);
	return false;
}

const char *ol_run_symbol_at(struct string *plain, struct string *cpp, const void *address,
			     bool function)
{
	struct lookup l = { (uintptr_t)address, function, plain };
	struct object o;
	const char *name;

	plain->used = 0;
	if (ol_run_object_at(address, &o))
		ol_run_symbols_each(&o, take_name, &l);
	if (!plain->used)
		return 0;
	name = ol_run_demangle(cpp, plain->at);
	return name ? name : plain->at;
}

/* A stack of its own. */

struct on_stack {
	void (*f)(void *arg);
	void *arg;
	ucontext_t here, there;
};

/* makecontext() passes ints. */
static void begin(unsigned high, unsigned low)
{
	struct on_stack *s = (struct on_stack *)((uintptr_t)high << 16 << 16 | low);

	s->f(s->arg);
}

bool ol_run_on_large_stack(void (*f)(void *arg), void *arg)
{
	const size_t size = 1 << 20; /* the demangler refuses names that could need more */
	struct on_stack s = { .f = f, .arg = arg };
	uintptr_t me = (uintptr_t)&s;
	void *stack = mmap(0, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

	if (stack == MAP_FAILED)
		return false;
	getcontext(&s.there);
	s.there.uc_stack.ss_sp = stack;
	s.there.uc_stack.ss_size = size;
	s.there.uc_link = &s.here;
	makecontext(&s.there, (void (*)(void))begin, 2, (unsigned)(me >> 16 >> 16), (unsigned)me);
	swapcontext(&s.here, &s.there);
	munmap(stack, size);
	return true;
}
