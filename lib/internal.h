/* SPDX-License-Identifier: MIT */
#ifndef OL_INTERNAL_H
#define OL_INTERNAL_H
/* What the library's parts ask of each other, and the hooks of its tests. Never exported. */
#include <overlock/ops.h>

#include <time.h>

/* Static TLS: no lazy allocation, so a signal handler may be the first to touch it. */
#define OL_THREAD_LOCAL	_Thread_local __attribute__((tls_model("initial-exec")))

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif
/* The kernel's clock; false if nothing here may read the time stamp counter. */
bool ol_clock_start(void);
void ol_clock_read(clockid_t clock, struct timespec *now);
void ol_clock_by_system_call(void);

/* From now on nothing of the library's reads the time stamp counter: it is about to trap. */
void ol_counter_traps(void);

/* Each part's start, in this order, before any constructor of the program runs. */
void ol_calibrate(struct ol_world *world);
void ol_tuning_start(void);
void ol_knowledge_start(void);
void ol_knowledge_renew(void); /* once more, in the child of a fork */

/*
 * Uses only these sources from now on: `none`, `usual`, `all`, names of knowledge.def. Returns null, or one line
 * that says what was wrong; then nothing changed. Before any thread asks.
 */
const char *ol_knowledge_choose(const char *list);

/* The name of the source that a fact of knowledge.def, as `slice_end`, comes from here; null: unknown. */
const char *ol_source_of(const char *fact);
void ol_context_start(void);

/*
 * Registers what is done in the child of a fork, once. Our constructor does it; the interposer comes
 * earlier, since handlers of the program's that take or release locks must find it done.
 */
void ol_watch_forks(void);

/* In the child of a fork, where only the calling thread is left. */
void ol_context_renew(void);
void ol_sites_renew(void);
void ol_sites_start(void);

/*
 * Sees to it that this thread's exit is noticed; false if it cannot be, because the library has
 * not started, memory is short, or the thread is all but gone. Async-signal-safe.
 */
bool ol_thread_register(void);
void ol_sites_leave(void); /* the thread is about to be gone */

/* This thread gave its CPU away by a system call: ol_slice_id() changes. */
void ol_slice_note_away(void);

/* The counted build: this thread is about to park or yield; it is back. */
void ol_count_sleep(bool parks);	     /* else it gives its CPU away and is back */
ol_ticks_t ol_count_until(ol_ticks_t until); /* when it must wake to look, if that is earlier */
void ol_count_wake(void);
void ol_slice_watch(void); /* counting.h: slice_word, slice_mark */

struct ol_world *ol_world_for_writing(void);

/* Tests: at most this many ids and nodes from now on; ids already given out count. */
void ol_test_limits(uint32_t ids, uint32_t nodes);
/* Tests: ids and nodes that are out, and nodes ever made. */
void ol_test_usage(uint32_t *ids, uint32_t *nodes_made);
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
