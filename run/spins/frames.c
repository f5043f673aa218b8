/* SPDX-License-Identifier: MIT */
/*
 * How the stack is unwound from within a stub, a pad or a hop: their frame is a signal's, which interrupted the loop at
 * the jump's target. Told to libgcc, in DWARF, as compilers tell it of what they make at run time.
 *
 * Before GCC 13, once anything is registered there, all that throw take one lock. That would be a new lock for
 * everybody, so there it is done only if OVERLOCK_SPINS_FRAMES asks for it.
 */
#include "spins.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
	LENGTH = 4, /* of an entry's own length */
	ENTRY = 80, /* bytes of each place's entry, filled up */
	PLACES = 3, /* of a site: its stub, its pad, its hop */
	CIE = 32,
	RSP = 7,
	RIP = 16, /* as DWARF numbers them */
	NOP = 0x00,
	DEF_CFA = 0x0c,
	DEF_CFA_OFFSET = 0x0e,
	VAL_EXPRESSION = 0x16,
	ADVANCE = 0x40,
	ADDRESS = 0x03, /* an operation: the 8 bytes behind it */
};

static unsigned char *put(unsigned char *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return to + size;
}

static unsigned char *put_word(unsigned char *to, uint32_t value)
{
	return put(to, &value, sizeof(value));
}

/* What all stubs have: absolute addresses, steps of one byte, the return address in RIP; a signal's frame. */
static void put_common(unsigned char *to)
{
	static const unsigned char common[] = {
		1,	 'z', 'R', 'S', 0, 1, 0x78, RIP, 1, 0 /* an address of 8 bytes, as it is */,
		DEF_CFA, RSP, 0,
	};
	unsigned char *at = put_word(put_word(to, CIE - LENGTH), 0);

	memset(put(at, common, sizeof(common)), NOP, CIE - 2 * LENGTH - sizeof(common));
}

/* From so many bytes of the stub on, the loop's stack begins so far up. */
static unsigned char *put_offset(unsigned char *to, unsigned *at, unsigned bytes, unsigned offset)
{
	*to++ = (unsigned char)(ADVANCE | (bytes - *at));
	*at = bytes;
	*to++ = DEF_CFA_OFFSET;
	if (offset >= 0x80)
		*to++ = (unsigned char)(offset | 0x80);
	*to++ = (unsigned char)(offset >= 0x80 ? offset >> 7 : offset);
	return to;
}

/* What all of them say; returns where more may be said of how the stack changes. */
static unsigned char *put_place(unsigned char *entry, const unsigned char *common,
				const unsigned char *place, uint64_t size, const struct site *site)
{
	uint64_t begin = (uint64_t)place, target = (uint64_t)site->target;
	unsigned char *to = put_word(entry, ENTRY - LENGTH);

	memset(to, NOP, ENTRY - LENGTH);
	to = put_word(to, (uint32_t)(to - common));
	to = put(put(to, &begin, sizeof(begin)), &size, sizeof(size));
	*to++ = 0; /* no more of its own */
	*to++ = VAL_EXPRESSION;
	*to++ = RIP;
	*to++ = 1 + sizeof(target);
	*to++ = ADDRESS;
	return put(to, &target, sizeof(target));
}

static void put_stub(unsigned char *entry, const unsigned char *common, const unsigned char *stub,
		     const struct site *site)
{
	unsigned char *to = put_place(entry, common, stub, STUB, site);
	unsigned at = 0;

	to = put_offset(to, &at, OL_STUB_BELOW_RED_ZONE, 128);
	to = put_offset(to, &at, OL_STUB_SAVED, 136);
	to = put_offset(to, &at, OL_STUB_RESTORED, 128);
	to = put_offset(to, &at, OL_STUB_LEAVES, 0);
	to = put_offset(to, &at, OL_STUB_IS_OVER, 136);
	to = put_offset(to, &at, OL_STUB_POPPED, 128);
	to = put_offset(to, &at, OL_STUB_HAS_TARGET, 136);
	to = put_offset(to, &at, OL_STUB_HAS_SITE, 144);
	put_offset(to, &at, OL_STUB_LEAVES_TOO, 0);
}

/* libgcc's, if the program has it: it is that which unwinds. */
static void *find_register(void)
{
	bool is_wanted = getenv("OVERLOCK_SPINS_FRAMES") != 0;

	if (!is_wanted && !dlvsym(RTLD_DEFAULT, "__truncsfbf2", "GCC_13.0.0"))
		return 0;
	return dlsym(RTLD_DEFAULT, "__register_frame");
}

void ol_spins_describe(const unsigned char *stubs, const struct site *const *sites, size_t n)
{
	void (*add)(const void *) = (__typeof__(add))find_register();
	unsigned char *all =
		add ? calloc(1, CIE + n * PLACES * ENTRY + LENGTH) : 0; /* four zeros end it */
	unsigned char *entry;

	if (!all)
		return;
	put_common(all);
	entry = all + CIE;
	for (size_t k = 0; k < n; k++) {
		put_stub(entry, all, stubs + k * STUB, sites[k]);
		entry += ENTRY;
		put_place(entry, all, sites[k]->pad, OL_PAD, sites[k]);
		entry += ENTRY;
		if (!sites[k]->hop)
			continue;
		put_place(entry, all, sites[k]->hop, OL_HOP, sites[k]);
		entry += ENTRY;
	}
	add(all);
}
