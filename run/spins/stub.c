/* SPDX-License-Identifier: MIT */
/* The stubs' machine code, and memory for it near the code that they belong to. */
#include "spins.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES(to, ...)                                                             \
	do {                                                                       \
		static const unsigned char code[] = { __VA_ARGS__ };               \
		memcpy(to, code, sizeof(code));                                    \
		(to) += sizeof(code);                                              \
	} while (0)

static unsigned char *put_32(unsigned char *to, uint32_t value)
{
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

/* push: a sign-extended half, and then the upper half beside it. */
static unsigned char *put_push(unsigned char *to, const void *pointer)
{
	uint64_t value = (uint64_t)pointer;

	BYTES(to, 0x68);
	to = put_32(to, (uint32_t)value);
	BYTES(to, 0xc7, 0x44, 0x24, 0x04); /* movl $upper, 4(%rsp) */
	return put_32(to, (uint32_t)(value >> 32));
}

static unsigned char *put_jump(unsigned char *to, const unsigned char *begin,
			       const unsigned char *at, const unsigned char *target)
{
	BYTES(to, 0xe9);
	return put_32(to, (uint32_t)(target - (at + (to - begin) + 4)));
}

/* No instruction of it changes the flags but those behind the call, which enter.S has saved. */
void ol_spins_write_stub(unsigned char *begin, const unsigned char *at, const struct site *site)
{
	uint32_t rounds = (uint32_t)ol_spins_rounds_offset();
	const unsigned char *enter = ol_spins_enter;
	unsigned char *to = begin, *distance;

	BYTES(to, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -128(%rsp), %rsp: the red zone */
	assert(to == begin + OL_STUB_BELOW_RED_ZONE);
	BYTES(to, 0x51); /* push %rcx */
	assert(to == begin + OL_STUB_SAVED);
	BYTES(to, 0x64, 0x8b, 0x0c, 0x25); /* mov %fs:rounds, %ecx */
	to = put_32(to, rounds);
	BYTES(to, 0x8d, 0x49, 0xff);	   /* lea -1(%rcx), %ecx */
	BYTES(to, 0x64, 0x89, 0x0c, 0x25); /* mov %ecx, %fs:rounds */
	to = put_32(to, rounds);
	BYTES(to, 0x67, 0xe3, 0x00); /* jecxz is_over */
	distance = to - 1;
	BYTES(to, 0x59); /* pop %rcx */
	assert(to == begin + OL_STUB_RESTORED);
	BYTES(to, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00, 0x00); /* lea 128(%rsp), %rsp */
	assert(to == begin + OL_STUB_LEAVES);
	to = put_jump(to, begin, at, site->target);
	assert(to == begin + OL_STUB_IS_OVER);
	*distance = (unsigned char)(to - distance - 1);
	BYTES(to, 0x59); /* pop %rcx */
	assert(to == begin + OL_STUB_POPPED);
	to = put_push(to, site->target);
	assert(to == begin + OL_STUB_HAS_TARGET + 8); /* the push, and its upper half */
	to = put_push(to, site);
	assert(to == begin + OL_STUB_HAS_SITE + 8);
	BYTES(to, 0xff, 0x15); /* call *enter(%rip) */
	to = put_32(to, (uint32_t)(begin + STUB - sizeof(enter) - to - 4));
	BYTES(to, 0x48, 0x8d, 0xa4, 0x24, 0x90, 0x00, 0x00, 0x00); /* lea 144(%rsp), %rsp */
	assert(to == begin + OL_STUB_LEAVES_TOO);
	put_jump(to, begin, at, site->target);
	memcpy(begin + STUB - sizeof(enter), &enter, sizeof(enter));
}

static uint64_t page_of(const unsigned char *at)
{
	return (uint64_t)at & -(uint64_t)sysconf(_SC_PAGESIZE);
}

/* Mapped at that address, or nowhere. A few bytes of it are ever touched, so huge pages would be a waste. */
static bool map(void *at, size_t size)
{
	void *found = mmap(at, size, PROT_READ | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (found == at)
		madvise(at, size, MADV_NOHUGEPAGE);
	else if (found != MAP_FAILED) /* an old kernel, to which the address was a hint */
		munmap(found, size);
	return found == at;
}

/* Far away, where nothing grows to; but jumps reach 2 GB. Below the code first: above the program its heap grows. */
enum { FARTHEST = 64 };

struct ol_shadow ol_spins_shadow(const unsigned char *low, const unsigned char *high, size_t n)
{
	const uint64_t reach = (1ull << 30) - OL_SHADOW_STEP,
		       page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t begin = page_of(low), end = page_of(high + OL_PAD - 1) + page,
		 size = end - begin + (n * STUB + page - 1) / page * page;

	for (int k = -FARTHEST; size < reach && k <= FARTHEST; k++) {
		int shift = k < 0 ? k : FARTHEST + 1 - k;
		int64_t at = (int64_t)begin + shift * OL_SHADOW_STEP;

		if (k && at > 0 && map((void *)at, size))
			return (struct ol_shadow){ (unsigned char *)at + (end - begin), shift };
	}
	return (struct ol_shadow){ 0 };
}
