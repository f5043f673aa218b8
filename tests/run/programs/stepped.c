/* SPDX-License-Identifier: MIT */
/*
 * One call of a worker's is executed instruction by instruction, and something happens at the n-th that it has not
 * executed before:
 *
 *	stepped CALL EVENT SAMPLES DRAW
 *
 * for about so many n, evenly spaced from one that the number DRAW chooses, up to the end of the call; for 0, at each.
 * Then it prints at how many of how many instructions that was; waits are as long as their time, so no two have
 * as many. What ends the process happens once, at DRAW. A round that does not end within STEPPED_HANG_S, a lost
 * exclusion or a lock that cannot be had any more is said on standard error, with status 1.
 *
 * Who has what the worker waits for lets it go when the event has happened, or when the worker is about to sleep for the
 * second time, or without a time limit.
 *
 * The steps are the processor's: a thread with the trap flag gets a SIGTRAP after each instruction, and so the event
 * happens in a signal handler, at exactly that place, and the call itself is the code that is shipped. The
 * handler lets it happen only where other signals are let in.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	TRAP_FLAG = 0x100,
	DEADLINE_NS = 30000000,
	STATUS = 7,
	LAST_STATUS = 8, /* there was no n-th instruction */
	COUNT_ONLY = 0
};

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t ready, go, asked, answered;
static int inside;
static volatile bool told, has_let_go;
static const char *call_name, *event_name;
static volatile long n;
static unsigned hang_s = 300; /* ends only what hangs, on however busy a machine */
static pthread_t worker;

static void fail(const char *what)
{
	char line[200];
	int size = snprintf(line, sizeof(line), "%s: %s at instruction %ld of %s\n", what,
			    event_name, n, call_name);

	if (write(2, line, (size_t)size) < 0)
		_exit(2);
	_exit(1);
}

static void need(bool is, const char *what)
{
	if (!is)
		fail(what);
}

static void hang(int number)
{
	(void)number;
	fail("no end");
}

static void enter(void)
{
	need(__atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED) == 0, "two inside");
}

static void leave(void)
{
	need(__atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED) == 1, "two inside");
}

static void use(pthread_mutex_t *mutex)
{
	need(!pthread_mutex_lock(mutex), "an error from lock");
	need(!pthread_mutex_unlock(mutex), "an error from unlock");
}

static struct timespec in_ns(long ns)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ns;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void await(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

/* The helper waits by now, asleep if it is to sleep; a wait that is no such is a test of less, not a failure. */
static void await_helper_asleep(void)
{
	await(&ready);
	usleep(1000);
}

/* The calls. A helper holds, or waits for, what the worker is about to call for. */

static int result;

static void nothing(void)
{
}

static void hold(void)
{
	pthread_mutex_lock(&m);
	enter();
	sem_post(&ready);
	await(&go);
	has_let_go = true;
	leave();
	pthread_mutex_unlock(&m);
}

static void be_ready(void)
{
	sem_post(&ready);
}

static void lock(void)
{
	result = pthread_mutex_lock(&m);
}

static void section(void)
{
	need(!result, "an error from lock");
	enter();
	leave();
	need(!pthread_mutex_unlock(&m), "an error from unlock");
}

static void lock_again(void)
{
	result = pthread_mutex_lock(&recursive);
	result |= pthread_mutex_lock(&recursive);
}

static void section_again(void)
{
	need(!result, "an error from lock");
	enter();
	leave();
	need(!pthread_mutex_unlock(&recursive), "an error from unlock");
	need(!pthread_mutex_unlock(&recursive), "an error from unlock");
}

static void lock_timed(void)
{
	struct timespec until = in_ns(DEADLINE_NS);

	result = pthread_mutex_timedlock(&m, &until);
}

static void after_timed(void)
{
	sem_post(&go);
	if (!result)
		section();
	else
		need(result == ETIMEDOUT, "an error from timedlock");
}

static void have(void)
{
	pthread_mutex_lock(&m);
	enter();
	sem_post(&answered);
	await_helper_asleep();
	leave();
}

static void queue(void)
{
	await(&answered);
	sem_post(&ready);
	pthread_mutex_lock(&m);
	enter();
	leave();
	pthread_mutex_unlock(&m);
}

static void unlock(void)
{
	result = pthread_mutex_unlock(&m);
}

static void after_unlock(void)
{
	need(!result, "an error from unlock");
}

static void have_alone(void)
{
	pthread_mutex_lock(&m);
	told = false;
	sem_post(&ready);
}

static void tell(void)
{
	await(&ready);
	await(&go);
	pthread_mutex_lock(&m);
	enter();
	told = true;
	leave();
	need(!pthread_cond_signal(&c), "an error from signal");
	pthread_mutex_unlock(&m);
}

static void wait_told(void)
{
	while (!told)
		need(!pthread_cond_wait(&c, &m), "an error from wait");
}

static void after_wait(void)
{
	enter();
	leave();
	need(!pthread_mutex_unlock(&m), "the mutex is not held");
}

static void wait_to_be_told(void)
{
	pthread_mutex_lock(&m);
	told = false;
	sem_post(&ready);
	while (!told)
		pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
}

static void about_to_signal(void)
{
	await_helper_asleep();
	pthread_mutex_lock(&m);
	told = true;
	pthread_mutex_unlock(&m);
}

static void signal_it(void)
{
	result = pthread_cond_signal(&c);
}

static void after_signal(void)
{
	need(!result, "an error from signal");
}

static void hold_written(void)
{
	pthread_rwlock_wrlock(&rw);
	enter();
	sem_post(&ready);
	await(&go);
	leave();
	pthread_rwlock_unlock(&rw);
}

static void read_it(void)
{
	result = pthread_rwlock_rdlock(&rw);
}

static void after_reading(void)
{
	need(!result && !inside, "read while written");
	need(!pthread_rwlock_unlock(&rw), "an error from unlock");
}

static void write_it(void)
{
	result = pthread_rwlock_wrlock(&rw);
}

static void after_writing(void)
{
	need(!result, "an error from wrlock");
	enter();
	leave();
	need(!pthread_rwlock_unlock(&rw), "an error from unlock");
}

static void leave_all(void)
{
	exit(STATUS);
}

static void await_ready(void)
{
	await(&ready);
}

static const struct call {
	const char *name;
	void (*helper)(void);
	void (*before)(void), (*stepped)(void), (*after)(void); /* the worker's */
} calls[] = {
	{ "lock", be_ready, await_ready, lock, section },
	{ "recursive", be_ready, await_ready, lock_again, section_again },
	{ "contended", hold, await_ready, lock, section },
	{ "unlock", queue, have, unlock, after_unlock },
	{ "timed", hold, await_ready, lock_timed, after_timed },
	{ "wait", tell, have_alone, wait_told, after_wait },
	{ "signal", wait_to_be_told, about_to_signal, signal_it, after_signal },
	{ "read", hold_written, await_ready, read_it, after_reading },
	{ "write", hold_written, await_ready, write_it, after_writing },
	{ "exit", be_ready, await_ready, leave_all, nothing },
};
static const struct call *call;

/* The events, in the worker's handler. */

static sigjmp_buf before_call;
static volatile pid_t child;
static volatile bool is_child;

/* No cancellation point. */
static void ask_main(void)
{
	sem_post(&asked);
	while (sem_trywait(&answered))
		sched_yield();
}

static void lock_other(void)
{
	use(&other);
}

/* Main has it, and lets it go while we wait. */
static void lock_other_contended(void)
{
	sem_post(&asked);
	use(&other);
}

static void await_child(void)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		need(errno == EINTR, "no child");
	child = 0;
	need(!status, "a child that failed or hung");
}

static void become_child(void)
{
	signal(SIGALRM, SIG_DFL);
	alarm(hang_s);
	use(&other);
}

static void fork_here(void)
{
	child = fork();
	if (!child) {
		become_child();
		if (!pthread_mutex_trylock(&m))
			pthread_mutex_unlock(&m);
		_exit(0);
	}
	need(child > 0, "no fork");
	await_child();
}

static void fork_and_go_on(void)
{
	child = fork();
	need(child >= 0, "no fork");
	if (!child) {
		is_child = true;
		become_child();
	}
}

static void jump(void)
{
	siglongjmp(before_call, 1);
}

static void let_exit(void)
{
	sem_post(&asked);
}

/* What main does meanwhile. */

static void cancel_it(void)
{
	pthread_cancel(worker);
	sem_post(&answered);
}

static void release_other(void)
{
	pthread_mutex_unlock(&other);
}

static void take_other(void)
{
	pthread_mutex_lock(&other);
}

static void end_all(void)
{
	exit(STATUS);
}

static void end_all_at_once(void)
{
	_exit(STATUS);
}

static const struct event {
	const char *name;
	void (*here)(void), (*main_before)(void), (*main)(void);
	bool ends; /* the process */
} events[] = {
	{ "none", nothing, nothing, nothing, false },
	{ "signal", lock_other, nothing, nothing, false },
	{ "contended-signal", lock_other_contended, take_other, release_other, false },
	{ "fork", fork_here, nothing, nothing, false },
	{ "fork-both", fork_and_go_on, nothing, nothing, false },
	{ "cancel", ask_main, nothing, cancel_it, false },
	{ "jump", jump, nothing, nothing, false },
	{ "exit", let_exit, nothing, end_all, true },
	{ "_exit", let_exit, nothing, end_all_at_once, true },
};
static const struct event *event;

/* The steps. */

static volatile bool is_stepping, has_happened;
static volatile long steps;
static volatile int sleeps;

/* Those executed in this round, by hash. */
enum { SEEN = 1 << 16 };
static greg_t seen[SEEN];

static bool is_new(greg_t instruction)
{
	unsigned at = (unsigned)(instruction * 0x9e3779b1u) % SEEN;

	while (seen[at] && seen[at] != instruction)
		at = (at + 1) % SEEN;
	if (seen[at])
		return false;
	seen[at] = instruction;
	return true;
}

static bool is_about_to_sleep(const greg_t *registers)
{
	const unsigned char *next = (const unsigned char *)registers[REG_RIP];

	bool is_futex =
		next[0] == 0x0f && next[1] == 0x05 && registers[REG_RAX] == SYS_futex; /* syscall */
	int operation = (int)registers[REG_RSI] & FUTEX_CMD_MASK;

	return is_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
}

static void count_sleep(const greg_t *registers)
{
	bool is_endless = !registers[REG_R10];

	if (is_about_to_sleep(registers) && (++sleeps == 2 || is_endless))
		sem_post(&go);
}

static bool lets_signals_in(const ucontext_t *u)
{
	return !sigismember(&u->uc_sigmask, SIGUSR1);
}

static void trapped(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	int saved = errno;

	(void)number, (void)info;
	if (is_stepping && call->stepped != lock_timed)
		count_sleep(u->uc_mcontext.gregs);
	u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	if (is_stepping) {
		steps += is_new(u->uc_mcontext.gregs[REG_RIP]);
		if (steps < n || n == COUNT_ONLY || !lets_signals_in(u))
			return;
	}
	u->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	if (!is_stepping)
		return;
	is_stepping = false;
	if (event->here == jump) {
		if (has_let_go) /* it may be ours already, and would be lost */
			return;
		has_happened = true;
		jump();
	}
	has_happened = true;
	if (call->stepped != lock_timed)
		sem_post(&go);
	event->here();
	errno = saved;
}

static void after(void *unused)
{
	(void)unused;
	is_stepping = false;
	call->after();
}

static void *work(void *unused)
{
	call->before();
	pthread_cleanup_push(after, 0);
	if (!sigsetjmp(before_call, 1)) {
		memset(seen, 0, sizeof(seen));
		steps = sleeps = 0;
		is_stepping = true;
		raise(SIGTRAP);
		call->stepped();
		is_stepping = false;
	} else {
		result = ETIMEDOUT; /* as if it had given up */
	}
	pthread_testcancel();
	pthread_cleanup_pop(result != ETIMEDOUT || call->after == after_timed);
	sem_post(&go);
	if (is_child)
		_exit(0);
	if (child)
		await_child();
	sem_post(&asked);
	return unused;
}

static void *help(void *unused)
{
	call->helper();
	return unused;
}

static void use_all(void)
{
	use(&m);
	use(&other);
	use(&recursive);
	need(!pthread_rwlock_wrlock(&rw) && !pthread_rwlock_unlock(&rw), "an error from wrlock");
}

static void *use_all_once(void *unused)
{
	use_all();
	return unused;
}

static void in_thread(pthread_t *thread, void *(*function)(void *))
{
	need(!pthread_create(thread, 0, function, 0), "no thread");
}

static void one_round(void)
{
	pthread_t helper, third;

	alarm(hang_s);
	has_happened = has_let_go = false;
	result = 0;
	sem_init(&ready, 0, 0);
	sem_init(&go, 0, 0);
	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	event->main_before();
	in_thread(&helper, help);
	in_thread(&worker, work);
	await(&asked); /* by the event, or at the end */
	if (has_happened || event->main_before != nothing)
		event->main();
	pthread_join(worker, 0);
	sem_post(&go);
	pthread_join(helper, 0);
	in_thread(&third, use_all_once);
	use_all();
	pthread_join(third, 0);
	need(!pthread_cond_destroy(&c), "an error from destroy");
	pthread_cond_init(&c, 0);
}

static long count(void)
{
	n = COUNT_ONLY;
	one_round();
	return steps;
}

#define FIND(table, wanted)                                                        \
	({                                                                         \
		__typeof__(&(table)[0]) found = 0;                                 \
		for (size_t i = 0; i < sizeof(table) / sizeof(*(table)); i++)      \
			if (!strcmp((table)[i].name, wanted))                      \
				found = &(table)[i];                               \
		if (!found)                                                        \
			exit(2);                                                   \
		found;                                                             \
	})

int main(int argc, char **argv)
{
	struct sigaction traps = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
	long samples, draw, every, done = 0, total;

	if (argc != 5)
		return 2;
	call = FIND(calls, argv[1]);
	event = FIND(events, argv[2]);
	call_name = call->name;
	event_name = event->name;
	samples = atol(argv[3]);
	draw = atol(argv[4]);
	if (getenv("STEPPED_HANG_S"))
		hang_s = (unsigned)atol(getenv("STEPPED_HANG_S"));
	sigaction(SIGTRAP, &traps, 0);
	signal(SIGALRM, hang);
	if (event->ends || call->stepped == leave_all) {
		n = draw;
		one_round();
		return LAST_STATUS;
	}
	total = count();
	every = samples ? total / samples + 1 : 1;
	for (n = 1 + draw % every; n <= total; n += every) {
		one_round();
		done += has_happened;
	}
	printf("%ld of %ld instructions\n", done, total);
	return 0;
}
