/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_WAITS_H
#define MONITOR_WAITS_H
/* What overlock-profiler and its BPF programs share. Times are in ns, of CLOCK_MONOTONIC. */
#include <linux/types.h>

enum role {
#define ROLE(NAME, TEXT) ROLE_##NAME,
#include "waits.def"
	ROLES
};

enum state {
#define STATE(NAME, TEXT) STATE_##NAME,
#include "waits.def"
	STATES
};

enum { NAME_BYTES = 16, STACK_BYTES = 8192, KERNEL_FRAMES = 24, ABSENCES = 16, SUSPECTS = 7 };
enum { STACK_WORDS = 8 }; /* a short function saves no more registers than that */
enum { WAITED = 8 };	  /* futexes that a thread is remembered to have waited at, a power of 2 */

/* Registers that an unwinder begins with.. */
struct place_in_code {
	__u64 ip, sp, bp, bx, r12, r13, r14, r15;
};

/* A time off the CPU, that is over. */
struct absence {
	__u64 from, to;
	__u32 state, unused;
};

/* Who has the CPU that somebody else wants. */
struct taker {
	char name[NAME_BYTES];
	__u32 sibling; /* a thread of the same process */
	__u32 unused;
};

struct thread_seen {
	__u64 seq;	  /* odd while the next three are written */
	__u64 since;	  /* in this state */
	__u64 ns[STATES]; /* before that */
	__u32 state;
	__u32 syscall;	 /* in which it sleeps, or slept last; ~0: none, a fault */
	__u64 lock;	 /* that it waits for; 0: none */
	__u32 op, value; /* with which it does */
	__u64 wait_began;
	__u64 passed,
		passed_ip;    /* the lock that it was woken for, and where that call returned to */
	__u64 passing;	      /* the same, as long as it is kept from going on, since wait_began */
	__u64 locks[2];	      /* that it waited for, or released, last */
	__u64 waited[WAITED]; /* that it waited at last */
	__u64 ran[WAITED];    /* CPU time that it had had when it was woken there */
	__u32 holds;	   /* bit i: it was woken at waited[i], and has woken nobody there since */
	__u32 waited_next; /* the place that is used next */
	__u64 last_wait;   /* where it waited last */
	__u64 before, before_ns,
		before_ran; /* the wait before: where, for how long, and ran_so_far() then */
	__u64 yields_told;  /* of ns[STATE_YIELDS], with stacks */
	__u64 kernel_lock, kernel_began;
	__u32 kernel_flags;
	__u32 unused;
	struct place_in_code at; /* when it went off its CPU last */
	struct taker taker;
	char name[NAME_BYTES];
	struct absence absences[ABSENCES]; /* the last ones */
	__u64 absent;			   /* how many there were */
};

/* What threads wait for at an address. */
struct lock_seen {
	__u64 since; /* up to here it is accounted */
	__u32 waiters;
	__u32 subject; /* the thread that has to do something next; 0: not known */
	__u32 role;
	__u32 next;			   /* that was woken last */
	__u32 late;			   /* that was held up last, on its way to the lock */
	__u32 owners;			   /* waits whose holder the mutex itself named */
	__u64 base[STATES];		   /* the subject's, at `since` */
	__u64 ns[ROLES][STATES];	   /* of waiters: two that wait 1 ms are 2 ms */
	__u64 wall[ROLES][STATES];	   /* in which somebody waited */
	__s64 missed;			   /* of `ns`, by steps that came late; below 0: too much */
	__u64 owed, owed_wall, owed_since; /* the same, of which nobody knows yet */
	__u64 waits, gave_up, wait_ns, longest;
	__u64 wakes;
	/* How it is used: account.h, behaves_like_lock(). */
	__u64 woken;	     /* waits that ended because somebody woke the thread */
	__u64 woke;	     /* calls that wake */
	__u64 by_waiters;    /* of these, by threads that had waited at it themselves */
	__u64 own;	     /* of these, the first since that thread was woken */
	__u64 came_back;     /* waits of threads that had worked since, and woken nobody */
	__u32 first, others; /* a thread that waited; waits of others */
	__u64 next_stack, next_holder; /* not to be looked at before */
	__u32 op, value;	       /* of the first wait: what kind of lock it is */
};

/* What a subject was kept from running by. */
struct cause {
	__u64 lock;
	__u64 at; /* the futex that it waited at, if that is its state */
	__u32 role, state;
	__u32 syscall;
	struct taker taker;
	__u32 unused;
};

/* A thread went on from a wait at one futex, or from yields (0), to a wait at another. */
struct onward {
	__u64 from, to;
};

struct kernel_lock {
	__u32 flags;
	__s32 stack;
};

struct kernel_waits {
	__u64 waits, ns, longest;
};

/* What is sent at once, and may be lost. */
enum record { RECORD_WAITER, RECORD_HOLDER, RECORD_SAMPLE, RECORD_EXEC, RECORD_YIELD };

struct stack_record {
	__u32 kind, thread;
	__u64 lock, ns;
	__u32 state; /* of the holder */
	__u32 bytes;
	struct place_in_code at;
	__u8 stack[STACK_BYTES]; /* of it the first `bytes`, from at.sp on */
};

/* The process runs another program from now on. */
struct exec_record {
	__u32 kind, thread;
	__u64 at;
};

/* For a timeline: what a thread does from then on; or who has to do something next, of a lock. */
enum change_kind { CHANGE_STATE, CHANGE_SUBJECT };

struct change {
	__u64 at, lock; /* that the thread waits for, or whose subject it is */
	__u32 kind, is; /* a state, STATES: it has ended; or a role */
	__u32 thread;	/* 0: nobody knows */
	__u32 by;	/* who made it so */
	__u32 waiters;	/* from then on */
	__u32 syscall;
	char name[NAME_BYTES];
	struct taker taker;
};

/* A thread seen running, in user space. */
struct sample_record {
	__u32 kind, thread;
	__u64 ip;
	__u64 registers[16]; /* as DWARF numbers them */
	__u64 top
		[STACK_WORDS]; /* of the stack: of a function that calls none, where it was called from */
	/* Threads that are able to run and have no CPU, elsewhere in the code. */
	struct suspect {
		__u64 ip;
		__u32 thread, state;
	} suspects[SUSPECTS + 1]; /* the last: of none */
	__u32 n_suspects, away;	  /* of these, and of all without a CPU */
};

struct counted {
	__u64 records_lost, locks_lost, threads_lost, causes_lost, changes_lost;
	__u64 others_waits, others_ns; /* of locks without a record */
	__u64 samples, samples_kernel, samples_yield;
	__u64 ended[STATES]; /* of threads that have exited */
	__u64 threads;	     /* seen */
	__u64 changes;
	__u64 last_end; /* when a thread exited */
	__u64 children; /* processes that it started */
};
#endif
