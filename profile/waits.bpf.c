// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Watches one process for `overlock profile`: what its threads do, which futexes they wait for, and who
 * has to do something before they can go on.
 *
 * The holder is known by the futex protocol. Who finds a mutex taken marks it, then sleeps; so who held
 * it then has to wake somebody, and is its holder until then. glibc's mutex names its owner. For others
 * the thread that was woken last, and went on, is taken for the holder. From the wake on, all wait for
 * the thread that was woken.
 */
#include <stdbool.h>
#include "kernel.h"
#include "account.h"
#include <linux/bpf_perf_event.h>
#include <linux/errno.h>
#include <linux/futex.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum { NR_YIELD = 24 }; /* system calls of x86-64; see below */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile __u32 process;
const volatile __u32 most_changes; /* that are sent; 0: no timeline is asked for */
const volatile __u64 stack_gap_ns, long_gap_ns, long_wait_ns; /* between stacks */

struct counted counted;
__u64 next_stack, next_long_stack, next_yield;
__u64 our_id; /* as the kernel has it, of who asked */

/* The thread on each CPU, 0: none, or no switch was seen; and how long it has run. A cache line for each CPU. */
#define MOST_CPUS	1024

static struct {
	__u64 task;
	__u64 ns; /* since the last switch, or look */
	__u64 unused[6];
} running[MOST_CPUS];

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_seen);
} threads SEC(".maps");

struct guarded_lock {
	struct bpf_spin_lock guard;
	struct lock_seen lock;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct guarded_lock);
} locks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct cause);
	__type(value, __u64);
} causes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct onward);
	__type(value, __u64);
} onwards SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct kernel_lock);
	__type(value, struct kernel_waits);
} kernel_locks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1024);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, KERNEL_FRAMES * sizeof(__u64));
} kernel_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* more, where a timeline is asked for */
} changes SEC(".maps");

/* Threads that are able to run and do not, by some bits of their ids. */
#define PLACES	32

struct away {
	__u64 since, ip;
	__u32 thread, state;
};

static struct away away[PLACES];

/* Values to begin with, too large for a program's stack. */
static const struct thread_seen new_thread;
static const struct guarded_lock new_lock;

#define COUNT(what, n)	__sync_fetch_and_add(&counted.what, n)

/* Changes. */

static __always_inline struct change *new_change(enum change_kind kind, __u32 is, __u32 thread,
						 __u64 lock, __u64 at)
{
	struct change *c = 0;

	if (counted.changes < most_changes)
		c = bpf_ringbuf_reserve(&changes, sizeof(*c), 0);
	if (!c) {
		COUNT(changes_lost, 1);
		return 0;
	}
	COUNT(changes, 1);
	__builtin_memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->is = is;
	c->thread = thread;
	c->lock = lock;
	c->at = at;
	return c;
}

static __always_inline void send_state(const struct task_struct *task, const struct thread_seen *t,
				       __u32 state, __u64 now)
{
	struct change *c;

	if (!most_changes)
		return;
	c = new_change(CHANGE_STATE, state, task->pid, t->lock ?: t->passing, now);
	if (!c)
		return;
	c->syscall = t->syscall;
	c->taker = t->taker;
	bpf_probe_read_kernel_str(c->name, sizeof(c->name), task->comm);
	bpf_ringbuf_submit(c, BPF_RB_NO_WAKEUP);
}

static __always_inline void send_subject(__u64 lock, __u64 now, __u32 role, __u32 subject,
					 __u32 waiters)
{
	struct change *c;

	if (!most_changes)
		return;
	c = new_change(CHANGE_SUBJECT, role, subject, lock, now);
	if (!c)
		return;
	c->by = (__u32)bpf_get_current_pid_tgid();
	c->waiters = waiters;
	bpf_ringbuf_submit(c, BPF_RB_NO_WAKEUP);
}

/* System calls. */

enum { NR_FUTEX = 202, NR_FUTEX_WAKE = 454, NR_FUTEX_WAIT = 455 };

static __always_inline bool is_futex(long number)
{
	return number == NR_FUTEX || number == NR_FUTEX_WAIT || number == NR_FUTEX_WAKE;
}

static __always_inline bool is_wait(__u32 op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	}
	return false;
}

static __always_inline bool is_wake(__u32 op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_UNLOCK_PI:
		return true;
	}
	return false;
}

/* Threads. */

static __always_inline struct thread_seen *begin_thread(__u32 id, const char *name,
							enum state state, __u64 now)
{
	long failed = bpf_map_update_elem(&threads, &id, &new_thread, BPF_NOEXIST);
	struct thread_seen *t = bpf_map_lookup_elem(&threads, &id);

	if (!t) {
		if (failed != -ENOMEM) /* else there is room, and memory when it is seen next */
			COUNT(threads_lost, 1);
		return 0;
	}
	bpf_probe_read_kernel_str(t->name, sizeof(t->name), name);
	t->state = state;
	t->since = now;
	COUNT(threads, 1);
	return t;
}

#define PF_EXITING	4

/* None of one that is ending: it is accounted already. */
static __always_inline struct thread_seen *thread_of(struct task_struct *task, enum state state,
						     __u64 now)
{
	__u32 id = task->pid;
	struct thread_seen *t = bpf_map_lookup_elem(&threads, &id);

	return t || task->flags & PF_EXITING ? t : begin_thread(id, task->comm, state, now);
}

static __always_inline struct thread_seen *current_thread(__u64 now)
{
	return thread_of(bpf_get_current_task_btf(), STATE_RUNS, now);
}

/* The additions order what is between them. */
static __always_inline void turns(const struct task_struct *task, struct thread_seen *t,
				  enum state state, __u64 now)
{
	__u32 before =
		*(volatile __u32 *)&t->state; /* else the verifier loses sight of the bound */

	if (before >= STATES)
		return;

	if (before != STATE_RUNS) {
		struct absence *a = &t->absences[t->absent++ % ABSENCES];

		a->from = t->since;
		a->to = now;
		a->state = before;
	}
	__sync_fetch_and_add(&t->seq, 1);
	if (now > t->since)
		t->ns[before] += now - t->since;
	t->since = now;
	t->state = state;
	__sync_fetch_and_add(&t->seq, 1);
	send_state(task, t, state, now);
}

struct times {
	__u64 ns[STATES];
};

/*
 * Its times up to now. A reader that comes between two writes three times in a row takes what it has. Not
 * static, as some others: the verifier looks at it once then, and not at each call.
 */
__noinline int times_of(struct thread_seen *t, __u64 now, struct times *times)
{
	__u64 *ns;
	__u32 state = 0;
	__u64 since = now;

	if (!t || !times)
		return 0;
	ns = times->ns;
	for (int tries = 0; tries < 3; tries++) {
		__u64 seq = __sync_fetch_and_add(&t->seq, 0);

		for (int i = 0; i < STATES; i++)
			ns[i] = *(volatile __u64 *)&t->ns[i];
		since = *(volatile __u64 *)&t->since;
		state = *(volatile __u32 *)&t->state;
		if (!(seq & 1) && __sync_fetch_and_add(&t->seq, 0) == seq)
			break;
	}
	for (int i = 0; i < STATES; i++) /* the verifier does not follow an index on the stack */
		ns[i] += above(now, since) & same(i, state);
	return 0;
}

/* Of a thread that runs now: how long it was in which state since then, as far as is remembered. */
__noinline int absences_of(const struct thread_seen *t, __u64 since, struct times *times)
{
	if (!t || !times)
		return 0;
	for (int i = 0; i < ABSENCES; i++) {
		const struct absence *a = &t->absences[i];
		__u64 ns = above(a->to, since + above(a->from, since));

		for (int k = 0; k < STATES; k++)
			times->ns[k] += ns & same(k, a->state);
	}
	return 0;
}

/* Causes. */

static __always_inline void blame(__u64 lock, const struct split *split, enum state state,
				  const struct thread_seen *subject)
{
	struct cause cause = { .lock = lock, .role = split->role, .state = state };
	__u64 ns = split->ns[state] * split->waiters, *sum;

	if (!ns)
		return;
	if (state == STATE_READY)
		cause.taker = subject->taker;
	else if (state == STATE_LOCKED)
		cause.at = subject->last_wait;
	else
		cause.syscall = subject->syscall;
	sum = bpf_map_lookup_elem(&causes, &cause);
	if (!sum) {
		__u64 none = 0;

		bpf_map_update_elem(&causes, &cause, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&causes, &cause);
	}
	if (sum)
		__sync_fetch_and_add(sum, ns);
	else
		COUNT(causes_lost, ns);
}

static __always_inline void blame_all(__u64 lock, const struct split *split,
				      const struct thread_seen *subject)
{
	blame(lock, split, STATE_READY, subject);
	blame(lock, split, STATE_WAITS_IO, subject);
	blame(lock, split, STATE_SLEEPS, subject);
	blame(lock, split, STATE_LOCKED, subject);
}

/* Locks. */

/* What happens to a lock. */
struct step {
	__u64 address, now;
	int waiters;  /* more, or fewer */
	bool changes; /* there is another subject */
	__u32 role, subject;
};

__noinline int take_step(struct step *s)
{
	struct guarded_lock *at;
	struct times before = {}, after = {};
	struct thread_seen *old, *new = 0;
	struct split split = {};
	struct lock_seen *lock;
	__u32 id, subject, role, waiters;

	if (!s)
		return 0;
	at = bpf_map_lookup_elem(&locks, &s->address);
	if (!at)
		return 0;
	lock = &at->lock;
	id = lock->subject;
	subject = s->subject;
	old = id ? bpf_map_lookup_elem(&threads, &id) : 0;
	if (old)
		times_of(old, s->now, &before);
	if (s->changes && subject)
		new = bpf_map_lookup_elem(&threads, &subject);
	if (new)
		times_of(new, s->now, &after);
	bpf_spin_lock(&at->guard);
	if (lock->subject != id) /* somebody else was faster */
		__builtin_memset(&before, 0, sizeof(before));
	account(lock, s->now, before.ns, &split);
	change_waiters(lock, s->now, s->waiters);
	if (s->changes) {
		lock->role = s->role;
		lock->subject = new ? subject : 0;
		__builtin_memcpy(lock->base, after.ns, sizeof(after.ns));
	} else if (lock->subject == id) {
		__builtin_memcpy(lock->base, before.ns, sizeof(before.ns));
	}
	role = lock->role;
	subject = lock->subject;
	waiters = lock->waiters;
	bpf_spin_unlock(&at->guard);
	send_subject(s->address, s->now, role, subject, waiters);
	if (old && split.waiters)
		blame_all(s->address, &split, old);
	return 0;
}

/* Who runs now releases it: has held it since its waiters came, if it is a lock. */
__noinline int settle_debt(__u64 address, __u64 now)
{
	struct guarded_lock *at = bpf_map_lookup_elem(&locks, &address);
	__u32 self = (__u32)bpf_get_current_pid_tgid();
	struct thread_seen *t = bpf_map_lookup_elem(&threads, &self);
	struct times absent = {};
	struct split split = {};
	struct lock_seen *lock;
	bool held;

	if (!at || !at->lock.owed)
		return 0;
	lock = &at->lock;
	held = t && lock->waiters && looks_like_lock(lock);
	if (held)
		absences_of(t, lock->owed_since, &absent);
	bpf_spin_lock(&at->guard);
	if (lock->owed)
		settle(lock, now, absent.ns, held ? ROLE_HOLDER : ROLE_NOBODY, &split);
	bpf_spin_unlock(&at->guard);
	if (held && split.waiters)
		blame_all(address, &split, t);
	return 0;
}

static __always_inline struct guarded_lock *lock_of(__u64 address, __u32 op, __u32 value, __u64 now)
{
	struct guarded_lock *at = bpf_map_lookup_elem(&locks, &address);

	if (at)
		return at;
	bpf_map_update_elem(&locks, &address, &new_lock, BPF_NOEXIST);
	at = bpf_map_lookup_elem(&locks, &address);
	if (!at) {
		COUNT(locks_lost, 1);
		return 0;
	}
	at->lock.op = op;
	at->lock.value = value;
	at->lock.since = now;
	return at;
}

static __always_inline bool is_of_condition(const struct guarded_lock *at)
{
	return at && at->lock.op == FUTEX_WAIT_BITSET && !at->lock.value;
}

/*
 * glibc's condition variable has two words beside each other, at which threads wait in turns: the first stands
 * for both, as soon as both have been waited at.
 */
static __always_inline __u64 canonical(__u64 address)
{
	__u64 first = address & ~4ull;
	struct guarded_lock *own;

	if (first == address || !is_of_condition(bpf_map_lookup_elem(&locks, &first)))
		return address;
	own = bpf_map_lookup_elem(&locks, &address);
	return !own || is_of_condition(own) ? first : address;
}

/* As glibc has it on all architectures of 64 bits. */
struct glibc_mutex {
	__u32 word, count, owner, users, kind;
};

#define MOST_KIND	0x3ff /* type, robust, priority inheritance, elision */

/* By glibc's mutex with waiters, or by a word that is the holder's id. 0: it is neither, or free. */
static __always_inline __u32 holder_at(__u64 address, __u32 op, __u32 value)
{
	struct glibc_mutex mutex = {};

	if (bpf_probe_read_user(&mutex, sizeof(mutex), (void *)address) || !mutex.word)
		return 0;
	if (value & FUTEX_WAITERS || op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		return mutex.word & FUTEX_TID_MASK;
	return value == 2 && mutex.kind <= MOST_KIND && mutex.users ? mutex.owner : 0;
}

/* By the mutex itself. 0: it does not tell, or it is free. */
static __always_inline __u32 named_holder(const struct lock_seen *lock, __u64 address)
{
	__u32 holder = lock->owners ? holder_at(address, lock->op, lock->value) : 0;

	return holder && bpf_map_lookup_elem(&threads, &holder) ? holder : 0;
}

static __always_inline bool looks_like_one(__u64 address)
{
	const struct guarded_lock *at = bpf_map_lookup_elem(&locks, &address);

	return at && looks_like_lock(&at->lock);
}

/* Stacks. */

static __always_inline void send_stack(enum record kind, __u32 thread, __u64 lock, __u64 ns,
				       enum state state, const struct place_in_code *at)
{
	struct stack_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r) {
		COUNT(records_lost, 1);
		return;
	}
	r->kind = kind;
	r->thread = thread;
	r->lock = lock;
	r->ns = ns;
	r->state = state;
	r->at = *at;
	r->bytes = STACK_BYTES;
	if (bpf_probe_read_user(r->stack, STACK_BYTES, (void *)at->sp)) {
		r->bytes = STACK_BYTES / 4;
		if (bpf_probe_read_user(r->stack, STACK_BYTES / 4, (void *)at->sp)) {
			r->bytes = STACK_BYTES / 16;
			if (bpf_probe_read_user(r->stack, STACK_BYTES / 16, (void *)at->sp))
				r->bytes = 0;
		}
	}
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP); /* it looks by itself */
}

static __always_inline void place_of(struct task_struct *task, struct place_in_code *at,
				     long *syscall)
{
	const struct pt_regs___x86 *regs = (const void *)bpf_task_pt_regs(task);

	at->ip = regs->ip;
	at->sp = regs->sp;
	at->bp = regs->bp;
	at->bx = regs->bx;
	at->r12 = regs->r12;
	at->r13 = regs->r13;
	at->r14 = regs->r14;
	at->r15 = regs->r15;
	*syscall = regs->orig_ax;
}

/* About that long: a program that waits in step with its looks would show the same thread each time. */
static __always_inline __u64 about(__u64 ns)
{
	return ns / 2 + bpf_get_prandom_u32() % (ns | 1);
}

/*
 * Stacks cost more than all else: a few of each lock's, and of long waits more. The first long wait of each
 * is looked at in any case: by its stack alone it is known what is waited for.
 */
static __always_inline bool is_due(__u64 *of_lock, __u64 now, __u64 ns)
{
	__u64 *of_all = ns >= long_wait_ns ? &next_long_stack : &next_stack;
	bool first = !*of_lock && ns >= long_wait_ns;

	if (!first && (now < *of_lock || now < *of_all))
		return false;
	*of_lock = now + about(stack_gap_ns);
	*of_all = now + about(ns >= long_wait_ns ? long_gap_ns : stack_gap_ns);
	return true;
}

static __always_inline void show_stacks(struct lock_seen *lock, __u64 address, __u64 ns, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct place_in_code at;
	long syscall;

	if (!is_due(&lock->next_stack, now, ns))
		return;
	place_of(task, &at, &syscall);
	send_stack(RECORD_WAITER, task->pid, address, ns, STATE_LOCKED, &at);
}

/* Of a holder that is off its CPU: our memory is its, too. */
static __always_inline void show_holder(__u64 address, __u64 now)
{
	struct guarded_lock *at = bpf_map_lookup_elem(&locks, &address);
	struct lock_seen *lock;
	struct thread_seen *t;
	__u32 id;

	if (!at)
		return;
	lock = &at->lock;
	id = named_holder(lock, address);
	if (!id && lock->waiters && lock->role == ROLE_HOLDER) /* else it is who had it last */
		id = lock->subject;
	if (!id)
		return;
	t = bpf_map_lookup_elem(&threads, &id);
	if (!t || t->state == STATE_RUNS || !t->at.sp || !is_due(&lock->next_holder, now, 0))
		return;
	send_stack(RECORD_HOLDER, id, address, 0, t->state, &t->at);
}

/* A thread is likely to lock again what it has locked last. */
static __always_inline void remember(struct thread_seen *t, __u64 address)
{
	if (t->locks[0] == address)
		return;
	t->locks[1] = t->locks[0];
	t->locks[0] = address;
}

/* Its place among those that the thread has waited at; WAITED: it is not among them. */
static __always_inline __u32 place_among(const struct thread_seen *t, __u64 address)
{
	for (__u32 i = 0; i < WAITED; i++)
		if (t->waited[i] == address)
			return i;
	return WAITED;
}

/* CPU time. */
static __always_inline __u64 ran_so_far(const struct thread_seen *t, __u64 now)
{
	return t->ns[STATE_RUNS] + (now > t->since ? now - t->since : 0);
}

#define WORKED_NS	50000 /* of CPU time: more than it takes to find that somebody was faster */

/* Pairs for which there is no room are told as lost, or unknown. */
static __always_inline void went_on(__u64 from, __u64 to, __u64 ns)
{
	struct onward key = { .from = from, .to = to };
	__u64 none = 0, *sum;

	bpf_map_update_elem(&onwards, &key, &none, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(&onwards, &key);
	if (sum)
		__sync_fetch_and_add(sum, ns);
}

/*
 * Without its wait before, the thread would have begun this one as much earlier, and been woken when it was: what
 * both have in common was lost to neither.
 */
__noinline int goes_onward(const struct thread_seen *t, __u64 to, __u64 ns)
{
	if (t && t->before && t->before != to)
		went_on(t->before, to, ns < t->before_ns ? ns : t->before_ns);
	return 0;
}

/* What a thread gave away right before it waits there, by yields one after the other. */
__noinline int yielded_before(const struct thread_seen *t, __u64 to, __u64 now)
{
	__u64 ns = 0;

	if (!t)
		return 0;
	for (__u64 i = 1; i <= ABSENCES; i++) {
		const struct absence *a = &t->absences[(t->absent - i) % ABSENCES];

		if (i > t->absent || now - a->to > WORKED_NS)
			break;
		if (a->state == STATE_YIELDS)
			ns += a->to - a->from;
		else if (a->state != STATE_READY)
			break;
		now = a->from;
	}
	if (ns)
		went_on(0, to, ns);
	return 0;
}

static __always_inline void has_been_waiting(struct thread_seen *t, __u64 address, __u64 ns,
					     __u64 now)
{
	t->before_ns = ns + (t->before == address ? t->before_ns : 0);
	t->before = address;
	t->before_ran = ran_so_far(t, now);
}

static __always_inline void has_waited(struct thread_seen *t, struct lock_seen *lock, __u32 self,
				       __u64 address, __u64 now)
{
	__u32 place = place_among(t, address);

	if (!lock->first)
		lock->first = self;
	else if (lock->first != self)
		lock->others++;
	if (place >= WAITED) {
		place = t->waited_next++ % WAITED;
		t->waited[place] = address;
	} else if (t->holds & 1u << place && ran_so_far(t, now) - t->ran[place] > WORKED_NS) {
		__sync_fetch_and_add(&lock->came_back, 1);
	}
	t->holds &= ~(1u << place);
}

static __always_inline void was_woken(struct thread_seen *t, struct lock_seen *lock, __u64 address,
				      __u64 now)
{
	__u32 place = place_among(t, address);

	__sync_fetch_and_add(&lock->woken, 1);
	if (place >= WAITED)
		return;
	t->holds |= 1u << place;
	t->ran[place] = ran_so_far(t, now);
}

static __always_inline void count_wake(struct thread_seen *t, struct lock_seen *lock, __u64 address)
{
	__u32 place = place_among(t, address);

	__sync_fetch_and_add(&lock->woke, 1);
	if (place >= WAITED)
		return;
	__sync_fetch_and_add(&lock->by_waiters, 1);
	if (t->holds & 1u << place)
		__sync_fetch_and_add(&lock->own, 1);
	t->holds &= ~(1u << place);
}

/*
 * Whoever runs may take a lock that is free though somebody was woken for it; without a call of the
 * kernel. So it is looked at when its thread leaves the CPU, and now and then.
 */
static __always_inline void look_at(__u64 address, __u32 self, __u64 now)
{
	struct guarded_lock *at = address ? bpf_map_lookup_elem(&locks, &address) : 0;
	struct step s = { .address = address, .now = now, .changes = true };
	__u32 holder;

	if (!at || !at->lock.owners || !at->lock.waiters)
		return;
	holder = named_holder(&at->lock, address);
	if ((holder == self) == (at->lock.role == ROLE_HOLDER && at->lock.subject == self))
		return;
	s.role = holder ? ROLE_HOLDER : ROLE_NEXT;
	s.subject = holder ?: at->lock.next;
	take_step(&s);
}

static __always_inline void look_at_locks(const struct thread_seen *t, __u32 self, __u64 now)
{
	look_at(t->locks[0], self, now);
	look_at(t->locks[1], self, now);
}

/* Its thread goes to sleep. Most calls do not come to that: the lock is free again. */
static __always_inline void begins_to_wait(struct thread_seen *t, __u32 self, __u64 now)
{
	__u64 address = t->lock;
	struct guarded_lock *at;
	__u32 holder;

	t->wait_began = now;
	t->last_wait = address;
	t->passed = 0;
	if (ran_so_far(t, now) - t->before_ran > WORKED_NS)
		t->before = 0;
	yielded_before(t, address, now);
	at = lock_of(address, t->op, t->value, now);
	if (!at)
		return;
	remember(t, address);
	has_waited(t, &at->lock, self, address, now);
	holder = holder_at(address, t->op, t->value);
	if (holder == self || !bpf_map_lookup_elem(&threads, &holder))
		holder = 0;
	struct step s = { .address = address,
			  .now = now,
			  .waiters = 1,
			  .changes = holder || at->lock.subject == self || !at->lock.waiters,
			  .role = holder ? ROLE_HOLDER : ROLE_NOBODY,
			  .subject = holder };

	if (holder)
		at->lock.owners++;
	take_step(&s);
}

/* Its own thread is not asleep yet, if it will be; a good time for a look at who has the lock. */
static __always_inline void may_wait(__u64 address)
{
	__u64 now = bpf_ktime_get_ns();

	if (now >= next_stack)
		show_holder(address, now);
}

static __always_inline void ends_waiting(struct thread_seen *t, long result, __u64 ip)
{
	__u64 address = t->lock, now = bpf_ktime_get_ns(), ns = now - t->wait_began;
	__u32 self = (__u32)bpf_get_current_pid_tgid();
	struct guarded_lock *at;
	struct lock_seen *lock;

	t->lock = 0;
	at = bpf_map_lookup_elem(&locks, &address);
	t->passed = result ? 0 : address;
	t->passed_ip = ip;
	if (!at) {
		COUNT(others_waits, 1);
		COUNT(others_ns, ns);
		return;
	}
	lock = &at->lock;
	struct step s = { .address = address,
			  .now = now,
			  .waiters = -1,
			  .changes = !result && looks_like_lock(lock),
			  .role = ROLE_HOLDER,
			  .subject = self };

	if (!result)
		goes_onward(t, address, ns);
	has_been_waiting(t, address, ns, now);
	take_step(&s);
	__sync_fetch_and_add(&lock->waits, 1);
	show_stacks(lock, address, ns, now);
	if (result)
		__sync_fetch_and_add(&lock->gave_up, 1);
	else
		was_woken(t, lock, address, now);
	__sync_fetch_and_add(&lock->wait_ns, ns);
	if (ns > lock->longest)
		lock->longest = ns;
}

/* The thread, if it has been woken and has not taken the lock yet. */
static __always_inline __u32 on_its_way(__u32 id, __u64 address)
{
	const struct thread_seen *t = bpf_map_lookup_elem(&threads, &id);

	if (!t)
		return 0;
	return t->passing == address || (t->lock == address && t->state != STATE_LOCKED) ? id : 0;
}

#define OFTEN_NS	5000

/* Who wakes others has released what they wait for. */
static __always_inline void releases(__u64 address)
{
	struct guarded_lock *at = bpf_map_lookup_elem(&locks, &address);
	struct thread_seen *t;
	__u32 next;
	__u64 now;

	if (!at)
		return;
	now = bpf_ktime_get_ns();
	t = current_thread(now);
	if (t)
		count_wake(t, &at->lock, address);
	if (!at->lock.waiters) {
		send_subject(address, now, ROLE_NOBODY, 0, 0);
		return;
	}
	if (at->lock.owners && now - at->lock.since < OFTEN_NS)
		return; /* who is woken, and who goes to sleep, tells the same */
	if (t)
		remember(t, address);
	if (at->lock.role == ROLE_NEXT && !at->lock.owed && on_its_way(at->lock.subject, address))
		return; /* all wait for that one already */
	struct step s = { .address = address, .now = now, .changes = true, .role = ROLE_NEXT };

	take_step(&s);
	settle_debt(address, now);
	at->lock.wakes++;
	next = on_its_way(at->lock.next, address) ?: on_its_way(at->lock.late, address);
	if (!next)
		return;
	s.subject = next;
	take_step(&s);
}

/* What is called. */

static __always_inline void futex_called(__u64 address, __u32 op)
{
	if (is_wait(op))
		may_wait(address);
	else if (is_wake(op))
		releases(canonical(address));
}

static __always_inline bool is_ours(void)
{
	return bpf_get_current_pid_tgid() >> 32 == process;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(enters, struct pt_regs___x86 *raw, long number)
{
	const struct pt_regs___x86 *regs = (const void *)raw;

	if (!is_futex(number) || !is_ours())
		return 0;
	__u64 address = regs->di;

	if (number == NR_FUTEX)
		futex_called(address, regs->si);
	else if (number == NR_FUTEX_WAIT)
		may_wait(address);
	else
		releases(canonical(address));
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leaves, struct pt_regs___x86 *raw, long result)
{
	const struct pt_regs___x86 *regs = (const void *)raw;
	__u32 id = (__u32)bpf_get_current_pid_tgid();
	struct thread_seen *t;
	long number;

	if (!is_ours())
		return 0;
	number = regs->orig_ax;
	if (number != NR_FUTEX_WAIT && !(number == NR_FUTEX && is_wait(regs->si)))
		return 0;
	t = bpf_map_lookup_elem(&threads, &id);
	if (t && t->lock)
		ends_waiting(t, result, regs->ip);
	return 0;
}

/* The scheduler. */

static __always_inline bool is_throttled(const struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	if (bpf_core_field_exists(task->se.cfs_rq->throttle_count))
		return task->se.cfs_rq->throttle_count > 0;
	return false;
}

static __always_inline void taken_by(struct thread_seen *t, const struct task_struct *other)
{
	bpf_probe_read_kernel_str(t->taker.name, sizeof(t->taker.name), other->comm);
	t->taker.sibling = BPF_CORE_READ(other, tgid) == process;
}

static __always_inline void goes_away(__u32 id, const struct thread_seen *t, __u64 now)
{
	struct away *place = &away[id % PLACES];

	place->since = now;
	place->ip = t->at.ip;
	place->state = t->state;
	place->thread = id;
}

static __always_inline void comes_back(__u32 id)
{
	struct away *place = &away[id % PLACES];

	if (place->thread == id)
		place->thread = 0;
}

#define TASK_UNINTERRUPTIBLE	2

static __always_inline enum state asleep_as(struct task_struct *task, const struct thread_seen *t,
					    unsigned int state, long syscall)
{
	if (t->lock || t->kernel_lock)
		return STATE_LOCKED;
	if (syscall < 0)
		return STATE_FAULTS;
	if (state & TASK_UNINTERRUPTIBLE || BPF_CORE_READ_BITFIELD(task, in_iowait))
		return STATE_WAITS_IO;
	return STATE_SLEEPS;
}

/* Of the call in which it was woken for that lock: it has not run its own code since. */
static __always_inline bool is_on_way_out(const struct thread_seen *t, struct task_struct *task)
{
	const struct pt_regs___x86 *regs = (const void *)bpf_task_pt_regs(task);

	return t->passed && t->at.ip == t->passed_ip && regs->di == t->passed;
}

/*
 * A thread often loses its CPU on the way out of the call in which it was woken: it has not taken the lock
 * then, and waits on; for somebody else, if that one was faster.
 */
static __always_inline void is_held_up(struct thread_seen *t, __u32 self, __u64 now)
{
	struct step s = { .address = t->passed,
			  .now = now,
			  .waiters = 1,
			  .changes = true,
			  .role = ROLE_NEXT,
			  .subject = self };

	struct guarded_lock *at = bpf_map_lookup_elem(&locks, &s.address);
	__u32 other;

	if (!at)
		return;
	at->lock.late = self;
	t->passing = t->passed;
	t->passed = 0;
	t->wait_began = now;
	other = named_holder(&at->lock, s.address);
	if (other && other != self) {
		s.role = ROLE_HOLDER;
		s.subject = other;
	}
	take_step(&s);
}

static __always_inline void goes_on(struct thread_seen *t, __u32 self, __u64 now)
{
	__u64 address = t->passing;
	struct guarded_lock *at = bpf_map_lookup_elem(&locks, &address);
	struct step s = {
		.address = address, .now = now, .waiters = -1, .changes = true, .role = ROLE_HOLDER
	};

	t->passing = 0;
	t->passed =
		address; /* it may be held up again at once: a group's quota takes the CPU on the way out */
	if (!at)
		return;
	s.subject = named_holder(&at->lock, address) ?: self;
	has_been_waiting(t, address, now - t->wait_began, now);
	take_step(&s);
	__sync_fetch_and_add(&at->lock.wait_ns, now - t->wait_began);
}

/* What it waits for, if it sleeps in that call. */
static __always_inline bool finds_futex(struct thread_seen *t, struct task_struct *task,
					long syscall)
{
	const struct pt_regs___x86 *regs = (const void *)bpf_task_pt_regs(task);
	__u32 second = regs->si;

	if (syscall == NR_FUTEX_WAKE || (syscall == NR_FUTEX && !is_wait(second)))
		return false;
	t->lock = canonical(regs->di);
	t->op = syscall == NR_FUTEX ? second & FUTEX_CMD_MASK : FUTEX_WAIT;
	t->value = syscall == NR_FUTEX ? (__u32)regs->dx : second;
	return true;
}

/* Whether who runs is about to wake those that wait there. */
static __always_inline bool wakes_at(__u64 address)
{
	const struct pt_regs___x86 *regs =
		(const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	long syscall = regs->orig_ax;

	if (syscall != NR_FUTEX_WAKE && !(syscall == NR_FUTEX && is_wake(regs->si)))
		return false;
	return regs->di == address || canonical(regs->di) == address;
}

static __always_inline void goes(struct task_struct *task, struct task_struct *next,
				 unsigned int state, bool preempted, __u64 now)
{
	struct thread_seen *t = thread_of(task, STATE_RUNS, now);
	long syscall;

	if (!t)
		return;
	if (!t->lock)
		look_at_locks(t, task->pid, now);
	place_of(task, &t->at, &syscall);
	if (preempted || !state) {
		if (!preempted && syscall == NR_YIELD) {
			turns(task, t, STATE_YIELDS, now);
			return;
		}
		taken_by(t, next);
		if (is_on_way_out(t, task) && looks_like_one(t->passed))
			is_held_up(t, task->pid, now);
		turns(task, t, is_throttled(task) ? STATE_THROTTLED : STATE_READY, now);
		goes_away(task->pid, t, now);
		return;
	}
	if (!t->lock && is_futex(syscall) && finds_futex(t, task, syscall))
		begins_to_wait(t, task->pid, now);
	t->syscall = syscall;
	turns(task, t, asleep_as(task, t, state, syscall), now);
}

static __always_inline void gets_cpu(struct task_struct *task, struct thread_seen *t, __u64 now)
{
	turns(task, t, STATE_RUNS, now);
	comes_back(task->pid);
	if (t->passing)
		goes_on(t, task->pid, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switches, bool preempted, struct task_struct *from, struct task_struct *to,
	     unsigned int state)
{
	bool ours = from->tgid == process, theirs = to->tgid == process;
	struct thread_seen *t;
	__u64 now;

	__u32 cpu = bpf_get_smp_processor_id() % MOST_CPUS;

	running[cpu].task = to->pid ? (__u64)to : 0;
	running[cpu].ns = 0;
	if (!ours && !theirs)
		return 0;
	now = bpf_ktime_get_ns();
	if (ours)
		goes(from, to, state, preempted, now);
	if (!theirs)
		return 0;
	t = thread_of(to, STATE_RUNS, now);
	if (t)
		gets_cpu(to, t, now);
	return 0;
}

#define LOOK_NS	1000000

/* At ticks of the timer, for one. */
SEC("tp_btf/sched_stat_runtime")
int BPF_PROG(runs, struct task_struct *task, __u64 ran_ns)
{
	__u32 id = task->pid, cpu = bpf_get_smp_processor_id() % MOST_CPUS;
	struct thread_seen *t;
	__u64 now;

	running[cpu].ns += ran_ns;
	if (running[cpu].ns < LOOK_NS || task->tgid != process ||
	    id != (__u32)bpf_get_current_pid_tgid())
		return 0;
	running[cpu].ns = 0;
	t = bpf_map_lookup_elem(&threads, &id);
	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	if (t->state != STATE_RUNS) /* now and then the switch to it is not seen */
		gets_cpu(task, t, now);
	if (!t->lock)
		look_at_locks(t, id, now);
	return 0;
}

/* In the context of who wakes it. */
SEC("tp_btf/sched_waking")
int BPF_PROG(is_woken, struct task_struct *task)
{
	__u64 address, now;
	struct thread_seen *t;
	struct guarded_lock *at;
	__u32 id = task->pid;

	if (task->tgid != process || !is_ours())
		return 0;
	t = bpf_map_lookup_elem(&threads, &id);
	address = t ? t->lock : 0;
	if (!address || !wakes_at(address))
		return 0;
	at = bpf_map_lookup_elem(&locks, &address);
	if (!at)
		return 0;
	now = bpf_ktime_get_ns();
	at->lock.next = id;
	struct step s = {
		.address = address, .now = now, .changes = true, .role = ROLE_NEXT, .subject = id
	};

	take_step(&s);
	return 0;
}

/* Who runs on the CPU that it was put on. */
static __always_inline const struct task_struct *who_has_cpu(const struct task_struct *task)
{
	if (!bpf_core_field_exists(task->thread_info.cpu))
		return 0;
	return (const void *)running[task->thread_info.cpu % MOST_CPUS].task;
}

static __always_inline void wakes_up(struct task_struct *task)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread_seen *t = thread_of(task, STATE_SLEEPS, now);
	const struct task_struct *other;

	if (!t || t->state < STATE_LOCKED) /* a second one, or it was awake still */
		return;
	if (is_throttled(task)) {
		turns(task, t, STATE_THROTTLED, now);
		goes_away(task->pid, t, now);
		return;
	}
	other = who_has_cpu(task);
	if (other)
		taken_by(t, other);
	turns(task, t, other ? STATE_READY : STATE_WAKES, now);
	goes_away(task->pid, t, now);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *task)
{
	if (task->tgid == process)
		wakes_up(task);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(begins, struct task_struct *task)
{
	if (task->tgid == process)
		wakes_up(task);
	return 0;
}

/* They are not watched. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(forks, struct task_struct *parent, struct task_struct *child)
{
	if (parent->tgid == process && child->tgid != process)
		COUNT(children, 1);
	return 0;
}

/* The first thread goes on, under the new program's name. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(executes, struct task_struct *task, int before)
{
	__u32 id = task->pid;
	struct exec_record *r;
	struct thread_seen *t;

	if (task->tgid != process)
		return 0;
	t = bpf_map_lookup_elem(&threads, &id);
	if (t)
		bpf_probe_read_kernel_str(t->name, sizeof(t->name), task->comm);
	r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		COUNT(records_lost, 1);
		return 0;
	}
	r->kind = RECORD_EXEC;
	r->thread = id;
	r->at = bpf_ktime_get_ns();
	bpf_ringbuf_submit(r, 0); /* its objects are read at once */
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exits, struct task_struct *task)
{
	__u32 id = task->pid;
	__u64 now = bpf_ktime_get_ns();
	struct times times = {};
	struct thread_seen *t;

	if (task->tgid != process)
		return 0;
	counted.last_end = now;
	t = bpf_map_lookup_elem(&threads, &id);
	if (!t)
		return 0;
	if (t->lock)
		ends_waiting(t, -1, 0);
	look_at_locks(t, id, now);
	send_state(task, t, STATES, now);
	times_of(t, now, &times);
	for (int i = 0; i < STATES; i++)
		COUNT(ended[i], times.ns[i]);
	bpf_map_delete_elem(&threads, &id);
	comes_back(id);
	return 0;
}

/* Locks of the kernel. */

#define SHORT_NS	10000 /* a wait for which a stack, of some 7 us, costs too much */

SEC("tp_btf/contention_begin")
int BPF_PROG(kernel_waits, void *lock, unsigned int flags)
{
	__u32 id = (__u32)bpf_get_current_pid_tgid();
	struct thread_seen *t;

	if (!is_ours())
		return 0;
	t = bpf_map_lookup_elem(&threads, &id);
	if (!t || t->kernel_lock) /* a second one, in an interrupt */
		return 0;
	t->kernel_lock = (__u64)lock;
	t->kernel_flags = flags;
	t->kernel_began = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(kernel_goes_on, void *lock, int result)
{
	__u32 id = (__u32)bpf_get_current_pid_tgid();
	struct kernel_waits *sum;
	struct kernel_lock key = {};
	struct thread_seen *t;
	__u64 ns;

	if (!is_ours())
		return 0;
	t = bpf_map_lookup_elem(&threads, &id);
	if (!t || t->kernel_lock != (__u64)lock)
		return 0;
	t->kernel_lock = 0;
	ns = bpf_ktime_get_ns() - t->kernel_began;
	key.flags = t->kernel_flags;
	key.stack = ns < SHORT_NS ? -1 : bpf_get_stackid(ctx, &kernel_stacks, BPF_F_FAST_STACK_CMP);
	sum = bpf_map_lookup_elem(&kernel_locks, &key);
	if (!sum) {
		static const struct kernel_waits none;

		bpf_map_update_elem(&kernel_locks, &key, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&kernel_locks, &key);
	}
	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->waits, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	if (ns > sum->longest)
		sum->longest = ns;
	return 0;
}

/* Samples of the code. */

#define NEAR	32 /* bytes: the same instructions, or nearly */

static __always_inline void add_suspects(struct sample_record *r)
{
	for (int i = 0; i < PLACES; i++) {
		const struct away *one = &away[i];
		__u32 n = r->n_suspects % (SUSPECTS + 1); /* SUSPECTS: all places are taken */
		__u64 apart = above(one->ip, r->ip) + above(r->ip, one->ip);
		__u64 is = ~same(one->thread, 0), is_far = ~(__u64)((__s64)(apart - NEAR) >> 63);

		r->suspects[n].thread = one->thread;
		r->suspects[n].ip = one->ip;
		r->suspects[n].state = one->state;
		r->away += 1 & is;
		r->n_suspects += 1 & is & is_far & ~same(n, SUSPECTS);
	}
}

/* Whoever yields its CPU in a loop waits, as one does that spins. */
static __always_inline void sample_kernel(__u32 id)
{
	struct place_in_code at;
	struct thread_seen *t;
	__u64 now, ns = 0;
	long syscall;

	place_of(bpf_get_current_task_btf(), &at, &syscall);
	if (syscall != NR_YIELD)
		return;
	COUNT(samples_yield, 1);
	now = bpf_ktime_get_ns();
	if (now < next_yield)
		return;
	next_yield = now + about(stack_gap_ns);
	t = bpf_map_lookup_elem(&threads, &id);
	if (t) {
		ns = t->ns[STATE_YIELDS] - t->yields_told;
		t->yields_told += ns;
	}
	send_stack(RECORD_YIELD, id, 0, ns, STATE_YIELDS, &at);
}

SEC("perf_event")
int sampled(struct bpf_perf_event_data *ctx)
{
	__u32 id = (__u32)bpf_get_current_pid_tgid();
	struct sample_record *r;

	if (!is_ours())
		return 0;
	COUNT(samples, 1);
	if (!(ctx->regs.cs & 3)) {
		COUNT(samples_kernel, 1);
		sample_kernel(id);
		return 0;
	}
	r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		COUNT(records_lost, 1);
		return 0;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->kind = RECORD_SAMPLE;
	r->thread = id;
	r->ip = ctx->regs.rip;
	r->registers[0] = ctx->regs.rax;
	r->registers[1] = ctx->regs.rdx;
	r->registers[2] = ctx->regs.rcx;
	r->registers[3] = ctx->regs.rbx;
	r->registers[4] = ctx->regs.rsi;
	r->registers[5] = ctx->regs.rdi;
	r->registers[6] = ctx->regs.rbp;
	r->registers[7] = ctx->regs.rsp;
	r->registers[8] = ctx->regs.r8;
	r->registers[9] = ctx->regs.r9;
	r->registers[10] = ctx->regs.r10;
	r->registers[11] = ctx->regs.r11;
	r->registers[12] = ctx->regs.r12;
	r->registers[13] = ctx->regs.r13;
	r->registers[14] = ctx->regs.r14;
	r->registers[15] = ctx->regs.r15;
	bpf_probe_read_user(r->top, sizeof(r->top), (const void *)ctx->regs.rsp);
	add_suspects(r);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP); /* it looks by itself */
	return 0;
}

/* To learn whether the kernel calls us what we call ourselves. */
SEC("syscall")
int who_asks(void *ctx)
{
	our_id = bpf_get_current_pid_tgid() >> 32;
	return 0;
}
