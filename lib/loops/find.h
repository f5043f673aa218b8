/* SPDX-License-Identifier: MIT */
#ifndef OL_FIND_H
#define OL_FIND_H
/*
 * Waiting loops in machine code: nothing that they do is of use until another thread changes a word of memory.
 *
 * A loop is a natural one: a block that dominates another one, which jumps back to it. It waits if it can be left on
 * a condition of what it loads, from an address that it does not change, and stores nothing.
 */
#include "decode.h"
#include "image.h"

enum ol_loop_kind {
#define OL_LOOP_KIND(name, ...) OL_LOOP_##name,
#include "kinds.def"
#undef OL_LOOP_KIND
	OL_LOOP_KINDS
};
extern const char *const ol_loop_kinds[OL_LOOP_KINDS];
extern const bool ol_loop_is_patched[OL_LOOP_KINDS];

/* A jump that each round takes, or one of several of which each round takes one. */
struct ol_jump {
	uint64_t after;	       /* the address behind it, which its displacement is relative to */
	uint64_t displacement; /* where that is */
	uint64_t target;
	uint64_t pad; /* of one with a byte's displacement: dead bytes, OL_PAD of them */
	uint64_t
		hop; /* if it does not reach them: dead bytes between, with room for a jump of OL_HOP bytes */
	uint8_t size; /* of the displacement */
};
#define OL_PAD 5
#define OL_HOP 2

#define OL_NO_BOUND INT64_MIN

struct ol_word {
	struct ol_address at;
	uint64_t
		after; /* the address behind the load of it; 0: there is none, or it is not known */
	bool stays;    /* no round changes a register of its address */
};

struct ol_loop {
	uint64_t function;
	uint64_t begin, end; /* the lowest of its addresses, and what is behind the highest */
	enum ol_loop_kind kind;
	bool relaxes;
	bool is_after_update; /* the function always makes an atomic one before it */
	uint8_t counter;      /* of a counted loop: the number of its register */
	uint8_t bound; /* of a counted loop: the register that has what it counts to, or OL_REGISTER_NONE */
	int64_t bound_is;     /* without that register: the number, or OL_NO_BOUND: not known */
	struct ol_word word;  /* what it waits for */
	struct ol_word other; /* if it compares two, which of them changes is not known */
	bool until_equal;     /* it ends when the word has that value */
	bool value_is_updates; /* an atomic update before the loop gave it, as that which takes a ticket does */
	uint8_t value; /* the register with the value that the word is compared with, which no round changes; or OL_REGISTER_NONE */
	const struct ol_jump *jumps; /* in the callback only */
	unsigned n_jumps;
	const char *refused; /* why its jumps cannot be retargeted; null: they can */
};

struct ol_finder;

/*
 * Finds all kinds of loops, or only what can be retargeted and is patched without being named, which is quicker.
 * Null: no memory.
 */
struct ol_finder *ol_finder_new(const struct ol_image *image, bool only_patched);
void ol_finder_free(struct ol_finder *finder);

typedef void ol_loop_found(const struct ol_loop *loop, void *context);

/* Those of the n-th function; false: it is none that can be decoded, or memory is short. */
bool ol_find_in(struct ol_finder *finder, uint32_t n, ol_loop_found *found, void *context);

/* Those of code between functions, which ol_image_between tells; its end becomes that of what can be decoded. */
bool ol_find_between(struct ol_finder *finder, uint32_t n, struct ol_function *code,
		     ol_loop_found *found, void *context);

/* Whether the function that was looked at last relaxes, and has no loop: its caller waits. */
bool ol_find_relaxes(const struct ol_finder *finder);

/* Whether a call of that function has this byte. */
bool ol_find_calls(const struct ol_finder *finder, uint64_t at);

/* In the callback: whether the loop has that instruction, which may lie between its ends and be none of its. */
bool ol_find_has(const struct ol_finder *finder, uint64_t at);
#endif
