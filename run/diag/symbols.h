/* SPDX-License-Identifier: MIT */
#ifndef OL_SYMBOLS_H
#define OL_SYMBOLS_H
/*
 * Which object an address lies in, and what that object's symbols are called.
 *
 * It is asked inside the program's calls to lock a mutex, whatever locks the program then holds. So
 * it takes none: neither the loader's, which a thread may hold that waits for one of ours (dladdr()
 * and dlsym() take it), nor malloc's. Nor is anything here a cancellation point.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
	const char *path;     /* to open it by; the loader's, and gone with the object */
	uintptr_t start, end; /* in memory */
	uintptr_t base;	      /* what its symbols' values are relative to */
	const void *dynamic;  /* tells it from another that was loaded there before */
};

/* False before the start, and where the C library cannot tell (glibc before 2.35). */
bool ol_run_object_at(const void *address, struct object *found);

/* Once, before anything else: may take locks. Says whether ol_run_object_at() can tell. */
bool ol_run_objects_start(void);

/* The file's name without its folder; of the program itself, what it was started as. */
const char *ol_run_object_name(const struct object *o);

struct symbol {
	const char *name; /* as the file has it */
	uintptr_t start, end;
	bool is_function; /* else data */
};

/*
 * Calls `each` for every function and variable that the object's file names, until it answers
 * false. Nothing, if the file is gone or not what it should be.
 */
void ol_run_symbols_each(const struct object *o, bool (*each)(const struct symbol *s, void *arg),
			 void *arg);

/* A string that grows; all zero is empty. */
struct string {
	char *at;
	size_t used, size;
};
void ol_run_string_free(struct string *t);
void ol_run_string_add(const char *piece, size_t n, void *string); /* ends with a zero */
/* As printf() has them: s, c, p, and x and u of int, long and size_t; a width, `-`, `0` and `#`. */
void ol_run_string_put(struct string *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void ol_run_string_quote(struct string *t, const char *s); /* as JSON has strings */

/* The name as C++ has it, in `t`, good until the next; null if it is no C++ name. */
const char *ol_run_demangle(struct string *t, const char *name);

/*
 * The function, or variable, that the address lies in, as people know it; null if none is known. The
 * text is in one of the two. To be called on a large stack.
 */
const char *ol_run_symbol_at(struct string *plain, struct string *cpp, const void *address,
			     bool function);

/*
 * Calls `f` on a stack of its own, since the demangler's appetite grows with the name and a thread
 * may have little left. False: there is no memory for one.
 */
bool ol_run_on_large_stack(void (*f)(void *arg), void *arg);
#endif
