/* SPDX-License-Identifier: MIT */
#ifndef OL_RUN_DIAG_INTERNAL_H
#define OL_RUN_DIAG_INTERNAL_H
/* What the diagnostics of the counted and of the checked library ask of each other. */
#include "interposer.h"
#include "symbols.h"

/* What it tells of; OL_FINDING(name, what). */
#define FINDING_LIST                                                                              \
	OL_FINDING(deadlock, "threads that wait for each other for ever")                         \
	OL_FINDING(long_wait, "a wait longer than --deadlock-timeout")                            \
	OL_FINDING(relock, "locked again by its holder, which now waits for itself")              \
	OL_FINDING(foreign_unlock, "unlocked by a thread that does not hold it")                  \
	OL_FINDING(free_unlock, "unlocked while free; the call has no effect")                    \
	OL_FINDING(destroy_held, "destroyed while held")                                          \
	OL_FINDING(init_held, "initialised while held")                                           \
	OL_FINDING(init_again, "initialised again elsewhere without pthread_mutex_destroy()")

enum finding {
#define OL_FINDING(name, what) FOUND_##name,
	FINDING_LIST
#undef OL_FINDING
};

#pragma GCC visibility push(hidden)

/* misuse.c */

/* Everything found so far, as a list's elements in JSON. Waits for a thread that reports one, unless it is the caller. */
#ifdef OL_CHECKED
void ol_run_misuse_put(struct string *t, bool is_telling);
#else
static inline void ol_run_misuse_put(struct string *t, bool is_telling)
{
	(void)t, (void)is_telling;
}
#endif

/* Of a report: a finding's thread may hold any lock. */
enum occasion { FINDING, DEMAND, END };

/* report.c */

bool ol_run_report_is_wanted(void); /* of this process */
void ol_run_report_on_demand(void); /* by no thread that holds a lock of the program's */

/*
 * misuse.c, by one thread at a time, whatever locks it holds or waits for: neither waits for a reader of the
 * terminal. What that has not taken is said another time, at the latest at the end; true: all is said.
 */
void ol_run_report_found(const char *text, size_t size);

/* report_say.c */

bool ol_run_report_say(void);
void ol_run_report_renew(void); /* in the child of a fork */
void ol_run_report_add(const char *text, size_t size);
void ol_run_report_say_rest(void);	    /* at the end; may wait for the terminal */
void ol_run_report_errors_start(void);	    /* standard error is a place to say it, too */
int ol_run_report_open(enum occasion when); /* where to say it; -1: nowhere */
bool ol_run_report_write(int fd, const char *text, size_t size, enum occasion when);

/* report_text.c */

void ol_run_report_table_start(const char *rows);
bool ol_run_report_write_found(int fd, enum occasion when); /* without stacks and sites */
bool ol_run_report_write_whole(int fd, enum occasion when); /* the JSON, on a large stack */
void ol_run_report_write_table(int fd, enum occasion when);
const char *ol_run_report_name_of(const void *site);

/* demand.c */

int ol_run_demand_number(void);	   /* of the signal; 0: none */
bool ol_run_demand_is_taken(void); /* the program has a handler of its own for it now */

/* stacks.c */

/* With OVERLOCK_STACKS, `wait` or `hold`, from now on. May take locks. */
void ol_run_stacks_start(void);

/* Refuses where a filter forbids them: glibc aborts the program then, as it waits or unwinds for us. */
void ol_run_need_futexes(void);

/* Once, before ol_run_unwind(): loads what it needs. May take locks. */
void ol_run_unwind_start(void);

/*
 * This thread's stack, as addresses to return to: from the call that returns to `from` on, or all there
 * is if that is not on it. Cut: there are more than `most`, of which it is the innermost.
 */
uint32_t ol_run_unwind(void **stack, uint32_t most, const void *from, bool *is_cut);

/* All stacks as JSON, an object; nothing if none are taken. */
void ol_run_stacks_write(struct string *t);

#pragma GCC visibility pop
#endif
