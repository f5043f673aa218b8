/* SPDX-License-Identifier: MIT */
#ifndef OL_DECODE_H
#define OL_DECODE_H
/*
 * What the instructions of x86-64 do, as far as a waiting loop is told by it. Zydis decodes them; it is loaded when
 * it is first needed, into no namespace of the program's.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ol_does {
	OL_DOES_WORK, /* anything else */
	OL_DOES_MOVE, /* loads, stores, copies, widens, computes an address */
	OL_DOES_COMPARE,
	OL_DOES_LOGIC, /* of bits: and, or, xor, shifts, setcc, negation */
	OL_DOES_STEP,  /* adds or subtracts */
	OL_DOES_RELAX, /* pause, tpause, umwait */
	OL_DOES_NOTHING,
	OL_DOES_FENCE,
	OL_DOES_CLOCK, /* reads the time stamp counter */
	OL_DOES_CALL,
	OL_DOES_SYSCALL,
	OL_DOES_BRANCH,	   /* on a condition */
	OL_DOES_JUMP,	   /* to `target` */
	OL_DOES_JUMP_AWAY, /* to where a register or a word of memory says */
	OL_DOES_RETURN,
	OL_DOES_END, /* ud2, hlt, int3 */
};

/* Sets of registers: a bit for each of the 16, by its number; and one for all others, the flags excepted. */
#define OL_REGISTER_OTHER 16
#define OL_REGISTER_NONE  31
#define OL_REGISTER_IP	  30

struct ol_address {
	uint8_t base, index, scale; /* registers' numbers */
	int64_t offset;
};

struct ol_instruction {
	uint64_t at;
	uint64_t target;	   /* of a branch, a jump, or a call that has one; else 0 */
	struct ol_address address; /* of the memory that it reads or writes */
	uint32_t reads, writes;	   /* registers, those of the address among the first */
	uint32_t defines;	   /* of the 16: those that it always writes, whatever they had */
	int64_t immediate;	   /* 0 if it has none */
	uint8_t size;
	uint8_t does;
	uint8_t displacement_at,
		displacement_size; /* of a branch or jump: bytes of the instruction */
	bool loads, stores, is_atomic, sets_flags, uses_flags;
	bool if_equal, if_unequal; /* of a branch: that is when it is taken */
};

/*
 * Null, or why nothing can be decoded. May be called again; the first call loads the decoder, by dlopen(): not from
 * within dl_iterate_phdr(), whose lock a thread in dlopen() waits for.
 */
const char *ol_decode_start(void);
bool ol_decode_is_started(void);

/* The instruction at the beginning of these bytes; false: there is none. */
bool ol_decode(const unsigned char *code, size_t size, uint64_t at,
	       struct ol_instruction *instruction);
#endif
