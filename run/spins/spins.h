/* SPDX-License-Identifier: MIT */
#ifndef OL_SPINS_H
#define OL_SPINS_H
/*
 * `overlock run --spins`: a jump that each round of a waiting loop takes is retargeted to a stub, which counts rounds and
 * now and then looks at the clock; a thread that has waited for long yields its CPU. The loop itself stays as it is.
 *
 *	loop:	mov	(%rdi), %rax
 *		cmp	%rax, %rdx
 *		je	loop		one byte of it is changed: je pad
 *		ret
 *	pad:	jmp	stub		was filling between two functions; or is memory of ours
 *	...
 *	stub:	(count down; at 0, ask waiting.c)
 *		jmp	loop
 */
#include "find.h"

#include <stdbool.h>
#include <stdint.h>

/* A jump that is retargeted to a stub. Counts are of all threads; relaxed, for nothing is told by their order. */
struct site {
	const void *loop;	     /* whose it is */
	const unsigned char *target; /* of the jump, and of the stub behind it */
	unsigned char *displacement; /* the byte that is changed */
	unsigned char *pad;	     /* where the jump to the stub is */
	bool is_far;	    /* the pad is in memory of ours: the displacement has four bytes */
	unsigned char *hop; /* where one to the pad is; null: not needed */
	uint8_t retargeted; /* what it has with us */
	uint8_t counter; /* the register in which the loop counts its rounds, or OL_REGISTER_NONE */
	uint8_t bound;	 /* as struct ol_loop has them */
	int64_t bound_is;
	/* The shortest seen, in 1/256 ticks: of this window of time, and of the last one. */
	uint32_t round, round_before;
	uint64_t window;	/* when it ends, in ticks */
	bool waited;		/* somebody */
	uint64_t yields, found; /* `found`: yields by which others ran */
	uint64_t yielded;	/* ticks */
};

/* Where the stub's slow part goes: with that site, and all registers as the loop left them. enter.S. */
extern const unsigned char ol_spins_enter[];

/* What that calls, with the loop's registers by their numbers. Itself it uses general registers only. */
void ol_spins_look(struct site *site, const uint64_t *registers);

/* Before a call of syscall() that installs a filter, and before the first one: enter.S. */
extern long (*ol_spins_real_syscall)(long, ...);
void ol_spins_before_syscall(long number, long operation);

/* How long a thread spins before it yields. */
void ol_spins_set_patience(uint64_t ns);

/* What a stub needs to find the thread's count of rounds: its distance from the thread pointer. */
int32_t ol_spins_rounds_offset(void);

/* Nobody yields any more, as soon as it returns. */
void ol_spins_stop_yielding(void);
void ol_spins_renew_yielding(void); /* in a child after fork(), which has one thread */

/* Whether what a yield takes ends the process, or fails: a filter of system calls may say so. filter.c watches for later ones. */
bool ol_spins_may_yield(void);

/* Bytes of a stub; and where in it the stack changes. */
enum {
	OL_STUB_BELOW_RED_ZONE = 5,
	OL_STUB_SAVED = 6,
	OL_STUB_RESTORED = 29,
	OL_STUB_LEAVES = 37,
	OL_STUB_IS_OVER = 42,
	OL_STUB_POPPED = 43,
	OL_STUB_HAS_TARGET = 48,
	OL_STUB_HAS_SITE = 61,
	OL_STUB_LEAVES_TOO = 83,
	STUB = 96,
};

/* Writes a stub that will run at `at`. */
void ol_spins_write_stub(unsigned char *to, const unsigned char *at, const struct site *site);

/*
 * Memory of ours, executable and not writable, for n stubs; and for a shadow of the code from `low` to `high`: whose byte at
 * `at` is at `at` + shift * OL_SHADOW_STEP. So a jump of four bytes leads from the code into the shadow with one byte of it changed.
 */
#define OL_SHADOW_STEP (1ll << 24) /* what the highest byte of four counts */

struct ol_shadow {
	unsigned char *stubs; /* null: there is no memory in reach */
	int shift;
};
struct ol_shadow ol_spins_shadow(const unsigned char *low, const unsigned char *high, size_t n);

/* Registers n stubs, a site each, with the unwinders. */
void ol_spins_describe(const unsigned char *stubs, const struct site *const *sites, size_t n);

/* Code of this process; null, or why it cannot be changed. Call it before there are threads. */
const char *ol_spins_text_start(void);
bool ol_spins_text_write(unsigned char *at, const void *bytes, size_t size);
void ol_spins_text_settle(void); /* all CPUs of this process see what was written */
#endif
