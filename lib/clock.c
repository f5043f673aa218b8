/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clock, and nobody else's.
 *
 * Not the C library's clock_gettime(): a program may bring its own, that tells another time
 * (libfaketime), while futexes go by the kernel's. So the code that the kernel maps into each process
 * (vdso(7)) is called directly.
 *
 * That code reads the time stamp counter, and is killed like any other where the kernel lets the
 * counter trap (PR_SET_TSC); there the clock is a system call.
 */
#include "internal.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef int reader_t(clockid_t clock, struct timespec *now);

static int by_system_call(clockid_t clock, struct timespec *now)
{
	return (int)syscall(SYS_clock_gettime, clock, now);
}

static reader_t *reader = by_system_call;

void ol_clock_read(clockid_t clock, struct timespec *now)
{
	ol_load_relaxed (&reader)(clock, now);
}

uint64_t ol_clock(void)
{
	struct timespec ts;

	ol_clock_read(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#if defined(__x86_64__)
#define IN_VDSO "__vdso_clock_gettime"
#else
#define IN_VDSO "__kernel_clock_gettime"
#endif

struct object {
	const char *base; /* what its addresses are relative to */
	const ElfW(Dyn) * dynamic;
};

static struct object object_at(const char *start)
{
	const ElfW(Ehdr) *header = (const void *)start;
	const ElfW(Phdr) *p = (const void *)(start + header->e_phoff);
	struct object o = { 0, 0 };

	for (int i = 0; i < header->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD && !o.base)
			o.base = start + p[i].p_offset - p[i].p_vaddr;
		else if (p[i].p_type == PT_DYNAMIC)
			o.dynamic = (const void *)(start + p[i].p_offset);
	}
	return o;
}

static const void *part(const struct object *o, ElfW(Sxword) tag)
{
	const ElfW(Dyn) *d = o->dynamic;

	while (d && d->d_tag != DT_NULL && d->d_tag != tag)
		d++;
	return d && d->d_tag == tag ? o->base + d->d_un.d_ptr : 0;
}

/* Null if the kernel has none to offer, or in a way that we do not know. */
static const void *find_in_vdso(const char *name)
{
	const char *start = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct object o = start ? object_at(start) : (struct object){ 0, 0 };
	const ElfW(Sym) *symbols = part(&o, DT_SYMTAB);
	const char *names = part(&o, DT_STRTAB);
	const uint32_t *hash =
		part(&o, DT_HASH); /* its second word is how many symbols there are */

	for (uint32_t i = 0; symbols && names && hash && i < hash[1]; i++)
		if (symbols[i].st_shndx != SHN_UNDEF && !strcmp(names + symbols[i].st_name, name))
			return o.base + symbols[i].st_value;
	return 0;
}

static bool counter_traps(void)
{
#if defined(__x86_64__)
	int how;

	return !prctl(PR_GET_TSC, &how) && how == PR_TSC_SIGSEGV;
#else
	return false;
#endif
}

bool ol_clock_start(void)
{
	const void *found;

	if (counter_traps())
		return false;
	found = find_in_vdso(IN_VDSO);
	if (found)
		memcpy(&reader, &found, sizeof(found));
	return true;
}

void ol_clock_by_system_call(void)
{
	ol_store_relaxed(&reader, by_system_call);
}
