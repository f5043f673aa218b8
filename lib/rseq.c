/* SPDX-License-Identifier: MIT */
/*
 * rseq(2) tells that we were off the CPU. A thread may point its `rseq_cs` at a critical section,
 * and the kernel clears the pointer whenever it preempts, migrates or signals the thread outside
 * that section. Ours is never executed, so a pointer that is gone means "you have been away since
 * you last looked", at the price of a load.
 *
 * Newer kernels (Linux 7.3; 6.18 did not) leave the pointer where the thread gave its CPU away by a system call, and
 * clear it only after a preemption, whatever their documentation says of threads that registered the classic 32
 * bytes. So ol_yield() and ol_park() say that they were away.
 *
 * A thread that registered more, as glibc does since 2.41, may also ask there for a little more time when its slice
 * ends (since Linux 7.0, with CONFIG_RSEQ_SLICE_EXTENSION): it sets `request`; the kernel that grants it clears
 * `request`, sets `granted`, and takes the CPU some microseconds later, or when the thread makes a system call.
 */
#include "internal.h"
#include "rseq.h"

#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<sys/rseq.h>) /* glibc 2.35 */
#include <sys/rseq.h>

extern const ptrdiff_t __rseq_offset __attribute__((weak)); /* may run with an older one */
extern const unsigned int __rseq_size __attribute__((weak));

#if defined(__x86_64__)
#define OL_RSEQ_TRAP	"ud2"
#define OL_RSEQ_BYTES	2
/* The signature is the operand of a trapping instruction. */
#define OL_RSEQ_MARK	".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053"
#elif defined(__aarch64__)
#define OL_RSEQ_TRAP	"brk #0"
#define OL_RSEQ_BYTES	4
#define OL_RSEQ_MARK	".inst 0xd428bc00"
#endif
#endif

#ifdef OL_RSEQ_TRAP
extern const char ol_rseq_never[] __attribute__((visibility("hidden")));
extern const char ol_rseq_abort[] __attribute__((visibility("hidden")));

/* A section that no thread enters, and its abort handler. */
__asm__(".pushsection .text\n\t"
	".balign 4\n\t"
	".hidden ol_rseq_never\n\t"
	".globl ol_rseq_never\n"
	"ol_rseq_never:\n\t" OL_RSEQ_TRAP "\n\t" OL_RSEQ_MARK "\n\t"
	".hidden ol_rseq_abort\n\t"
	".globl ol_rseq_abort\n"
	"ol_rseq_abort:\n\t" OL_RSEQ_TRAP "\n\t"
	".popsection");

static struct rseq_cs never;

static struct ol_rseq_area *registered(void)
{
	char *thread;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(thread));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
	return (struct ol_rseq_area *)(void *)(thread + __rseq_offset);
}

/* glibc leaves the size 0 when the kernel refused it, or the administrator did. */
bool ol_rseq_start(void)
{
	if (!&__rseq_offset || !&__rseq_size || !__rseq_size)
		return false;
	never.start_ip = (uintptr_t)ol_rseq_never;
	never.post_commit_offset = OL_RSEQ_BYTES;
	never.abort_ip = (uintptr_t)ol_rseq_abort;
	return true;
}

/* Somebody else's section in its place tells nothing, so it counts as having been away. */
bool ol_rseq_was_away(void)
{
	struct ol_rseq_area *r = registered();

	if (ol_load_relaxed(&r->section) == (uintptr_t)&never)
		return false;
	ol_store_relaxed(&r->section, (uintptr_t)&never);
	return true;
}

/* Relaxed: of threads, only this one writes it, and the kernel only while this one is interrupted. */
void ol_rseq_note_away(void)
{
	struct ol_rseq_area *r = registered();

	if (ol_load_relaxed(&r->section) == (uintptr_t)&never)
		ol_store_relaxed(&r->section, (uint64_t)0);
}

const uint64_t *ol_rseq_word(uint64_t *mark)
{
	*mark = (uintptr_t)&never;
	return &registered()->section;
}
#else
static struct ol_rseq_area *registered(void)
{
	return 0;
}

bool ol_rseq_start(void)
{
	return false;
}

bool ol_rseq_was_away(void)
{
	return false;
}

void ol_rseq_note_away(void)
{
}

const uint64_t *ol_rseq_word(uint64_t *mark)
{
	(void)mark;
	return 0;
}
#endif

/* The extension. */

#define PR_EXTENSION	    79	/* PR_RSEQ_SLICE_EXTENSION */
#define PR_EXTENSION_GET    1
#define PR_EXTENSION_SET    2
#define PR_EXTENSION_ENABLE 1
#define SLICE_YIELD	    471 /* rseq_slice_yield(2), the same on all architectures */
#define IS_AVAILABLE	    (1u << 4)

/* The kernel may have it, and yet not offer it to a thread that registered as one of old. */
static bool has(void)
{
	if (prctl(PR_EXTENSION, PR_EXTENSION_GET, 0, 0, 0) < 0)
		return false;
	if (ol_rseq_start() && (ol_load_relaxed(&registered()->flags) & IS_AVAILABLE))
		return true;
	errno = ENOTSUP;
	return false;
}

static bool enable(void)
{
	return !prctl(PR_EXTENSION, PR_EXTENSION_SET, PR_EXTENSION_ENABLE, 0, 0);
}

static void yield(void)
{
	syscall(SLICE_YIELD);
}

struct ol_rseq_kernel ol_rseq_kernel = { has, enable, yield, registered };

static OL_THREAD_LOCAL struct {
	bool tried, enabled;
	uint32_t depth; /* sections within sections */
} me;

bool ol_rseq_can_defer(void)
{
	int saved = errno;
	bool can = ol_rseq_kernel.has();

	errno = saved;
	return can;
}

bool ol_rseq_defer_begin(void)
{
	int saved = errno;

	if (OL_UNLIKELY(!me.tried)) {
		me.tried = true;
		me.enabled = ol_rseq_kernel.enable();
		errno = saved;
	}
	/* Relaxed: only the kernel reads it, when it interrupts this thread. */
	if (me.enabled && !me.depth++)
		ol_store_relaxed(&ol_rseq_kernel.area()->request, (uint8_t)1);
	return me.enabled;
}

/* What was granted is given back as soon as it is not needed; the kernel takes note of threads that do not. */
void ol_rseq_defer_end(void)
{
	struct ol_rseq_area *area;
	int saved = errno;

	if (!me.depth)
		return;
	me.depth--;
	if (me.depth)
		return;
	area = ol_rseq_kernel.area();
	ol_store_relaxed(&area->request, (uint8_t)0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* else a grant that comes between is not seen */
	if (!OL_UNLIKELY(ol_load_relaxed(&area->granted)))
		return;
	ol_rseq_kernel.yield();
	errno = saved;
}
