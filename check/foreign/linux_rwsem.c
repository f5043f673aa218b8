// SPDX-License-Identifier: MIT
// Linux's rw_semaphore without its optimistic spinning. A task is a context; it sleeps on its state. The time
// after which a waiter asks for a hand-over never comes; with -DOL_LATE it has come.
// brings: kernel/locking/rwsem.c
// replaces: (?s)#else /\* !CONFIG_PREEMPT_RT \*/.*\Z => #endif
#include <overlock/foreign/linux.h>

#include <errno.h>

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l->prev = l;
}

static inline void list_del(struct list_head *l)
{
	l->next->prev = l->prev;
	l->prev->next = l->next;
}

static inline void list_add_tail(struct list_head *l, struct list_head *head)
{
	l->next = head;
	l->prev = head->prev;
	head->prev->next = l;
	head->prev = l;
}

static inline void list_move_tail(struct list_head *l, struct list_head *head)
{
	list_del(l);
	list_add_tail(l, head);
}
#define list_empty(l)	((l)->next == (l))
#define list_first_entry(l, type, member) container_of((l)->next, type, member)
#define list_for_each_entry_safe(at, n, head, member)				\
	for (at = list_first_entry(head, __typeof__(*at), member);		\
	     &at->member != (head) && (n = list_first_entry(&at->member, __typeof__(*at), member), 1); \
	     at = n)

#define TASK_RUNNING		0
#define TASK_INTERRUPTIBLE	1
#define TASK_UNINTERRUPTIBLE	2
#define TASK_KILLABLE		3
static struct task_struct {
	u32 state;
} tasks[16] __attribute__((aligned(8)));
#define current			(&tasks[smp_processor_id()])
#define set_current_state(s)	smp_store_mb(current->state, (s))
#define __set_current_state(s)	WRITE_ONCE(current->state, (s))
#define signal_pending_state(state, task) 0
#define rt_or_dl_task(task)	0
#define get_task_struct(task)

static void schedule_preempt_disabled(void)
{
	u32 state = READ_ONCE(current->state);

	if (state != TASK_RUNNING)
		ol_checked_futex_wait(&current->state, state, ~0u, false);
	__set_current_state(TASK_RUNNING);
}

static void wake_up_process(struct task_struct *task)
{
	if (xchg(&task->state, TASK_RUNNING) != TASK_RUNNING)
		ol_checked_futex_wake(&task->state, 1, ~0u);
}

struct wake_q_head {
	unsigned n;
	struct task_struct *tasks[4];
};
#define DEFINE_WAKE_Q(name)	struct wake_q_head name = { 0 }
#define wake_q_init(q)		((q)->n = 0)
#define wake_q_empty(q)		(!(q)->n)
#define wake_q_add(q, task)	((q)->tasks[(q)->n++] = (task))
#define wake_q_add_safe		wake_q_add

static void wake_up_q(struct wake_q_head *q)
{
	for (unsigned i = 0; i < q->n; i++)
		wake_up_process(q->tasks[i]);
}

typedef unsigned raw_spinlock_t;
#define raw_spin_lock_irq(l)							\
	do {									\
		while (xchg_acquire((l), 1))					\
			cpu_relax();						\
	} while (0)
#define raw_spin_unlock_irq(l)		smp_store_release((l), 0)
#define raw_spin_lock_irqsave(l, flags)	((void)(flags), ({ raw_spin_lock_irq(l); }))
#define raw_spin_unlock_irqrestore(l, flags) raw_spin_unlock_irq(l)
#define scoped_guard(kind, l)

#ifdef OL_LATE
#define time_after(a, b)	1
#else
#define time_after(a, b)	0
#endif
#define jiffies			0
#define HZ			250
#define DIV_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define BITS_PER_LONG		64
#define RWSEM_UNLOCKED_VALUE	0L
#define ERR_PTR(e)		((void *)(long)(e))
#define IS_ERR(p)		((unsigned long)(p) >= -4095ul)
#define __must_hold(l)
#define __releases(l)
#define lockdep_assert_held(l)
#define lockdep_assert_preemption_disabled()
#define hung_task_set_blocker(l, type)
#define hung_task_clear_blocker()
struct lock_class_key;
struct rwsem_waiter;
struct rw_semaphore {
	atomic_long_t count, owner;
	raw_spinlock_t wait_lock;
	struct rwsem_waiter *first_waiter;
};
#include "rwsem.c"

static void start(void *o)
{
	__init_rwsem(o, "", 0);
}

static void lock(void *o)
{
	__down_write(o);
}

static bool try_to_lock(void *o)
{
	return __down_write_trylock(o);
}

static void release(void *o)
{
	__up_write(o);
}

static void lock_shared(void *o)
{
	__down_read(o);
}

static void release_shared(void *o)
{
	__up_read(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Linux rwsem",
	.size = sizeof(struct rw_semaphore),
	.init = start,
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
	.read_lock = lock_shared,
	.read_unlock = release_shared,
};
