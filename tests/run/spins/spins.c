/* SPDX-License-Identifier: MIT */
/*
 * Threads in waiting loops, and what must not be changed by `overlock run --spins`:
 *
 *	spins kept		registers, flags, vectors, the red zone
 *	spins stepped		at each instruction of a round the stack is unwound to its beginning
 *	spins forked		children wait too, and so do their threads
 *	spins both		two loops that begin near each other
 *	spins filtered		a filter of system calls that ends who yields is installed while threads wait
 *	spins behind yields|writes|force COMMAND...	such a filter, one that forbids to write where code is, or one
 *			that fails as a kernel does that lets debuggers only write where memory is not writable
 *	spins endless		waits that count down past the least number there is end when they are told
 *	spins counted N		a thread waits for so many rounds and no longer, while N others compute
 *	spins crowd N ROUNDS	N threads meet at a spin barrier
 *	spins toggled N TIMES	N threads meet while their jump is retargeted and taken back so many times
 *	spins loaded LIBRARY...	each is loaded, waited in by a thread, and unloaded, many times
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

long kept(volatile int *word, void *scratch);
void await(volatile int *word);
void await_so_long(volatile int *word, long rounds);
void await_both(volatile int *word, volatile int *other);
void await_end(void);
void await_jumped(void); /* behind its jump */

#ifdef FAR
#define HIGHEST 24
#else
#define HIGHEST 0
#endif

enum { TRAP_FLAG = 0x100, WAIT_US = 3000, TIMES = 30 };

static volatile int word;
static char vectors[16] = "0123456789abcde";

static void need(bool is, const char *what)
{
	if (is)
		return;
	fprintf(stderr, "%s\n", what);
	_exit(1);
}

static void *set_word(void *unused)
{
	usleep(WAIT_US);
	word = 1;
	return unused;
}

static void await_in_thread(void)
{
	pthread_t setter;

	word = 0;
	need(!pthread_create(&setter, 0, set_word, 0), "no thread");
	await(&word);
	pthread_join(setter, 0);
}

static int await_two(void)
{
	pthread_t setter;

	need(!pthread_create(&setter, 0, set_word, 0), "no thread");
	await_both(&word, &word);
	pthread_join(setter, 0);
	return 0;
}

static int keep(void)
{
	for (int k = 0; k < TIMES; k++) {
		static const char *const parts[] = { "", "flags", "a register", "a vector",
						     "the red zone" };
		pthread_t setter;
		long changed;

		word = 0;
		need(!pthread_create(&setter, 0, set_word, 0), "no thread");
		changed = kept(&word, vectors);
		need(!changed, parts[changed]);
		pthread_join(setter, 0);
	}
	return 0;
}

/* Stepping. */

static volatile long steps, in_stubs, cut_in_stubs, cut_elsewhere;
static uintptr_t in_main; /* where the stepping returns to */

static _Unwind_Reason_Code look_for_main(struct _Unwind_Context *context, void *found)
{
	uintptr_t at = _Unwind_GetIP(context);

	*(bool *)found |= at == in_main;
	return _URC_NO_REASON;
}

static bool is_in_an_object(uintptr_t at)
{
	Dl_info about;

	return dladdr((void *)at, &about);
}

static void stepped(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uintptr_t at = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
	bool found = false;

	(void)number, (void)info;
	u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	_Unwind_Backtrace(look_for_main, &found);
	in_stubs += !is_in_an_object(at);
	cut_in_stubs += !found && !is_in_an_object(at);
	cut_elsewhere += !found && is_in_an_object(at);
	if (++steps < 4000)
		return;
	word = 1;
	if (at >= (uintptr_t)await_end)
		u->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void begin_stepping(void)
{
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void end_stepping(void)
{
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

__attribute__((noinline)) static int step(void)
{
	struct sigaction traps = { .sa_sigaction = stepped, .sa_flags = SA_SIGINFO };
	pthread_t none;

	need(!pthread_create(&none, 0, set_word, 0) && !pthread_join(none, 0), "no thread");
	word = 0;
	in_main = (uintptr_t)__builtin_return_address(0);
	sigaction(SIGTRAP, &traps, 0);
	begin_stepping();
	await(&word);
	signal(SIGTRAP, SIG_IGN);
	end_stepping();
	printf("%d %ld %ld\n", in_stubs > 100, cut_in_stubs, cut_elsewhere);
	return 0;
}

/* Forks. */

static int fork_and_wait(void)
{
	for (int k = 0; k < TIMES; k++) {
		pid_t child;
		int status;

		await_in_thread();
		child = fork();
		need(child >= 0, "no fork");
		if (!child) {
			await_in_thread();
			_exit(0);
		}
		await_in_thread();
		need(waitpid(child, &status, 0) == child && !status, "a child failed");
	}
	return 0;
}

/* Filters. */

static void forbid(unsigned call, unsigned then)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, then),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(lines) / sizeof(*lines), lines };

	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no filter");
	need(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter),
	     "no filter");
}

static int filter(void)
{
	await_in_thread();
	forbid(SYS_sched_yield, SECCOMP_RET_KILL_PROCESS);
	for (int k = 0; k < TIMES; k++)
		await_in_thread();
	return 0;
}

/* It was, if at all, while it was changed. */
static void code_is_not_writable(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	need(maps != 0, "no maps");
	while (fgets(line, sizeof(line), maps))
		need(!strstr(line, " rwx"), "code is writable");
	fclose(maps);
}

/* A program behind such a filter, or one by which no code can be written. */
static int behind(const char *what, char **command)
{
	if (!strcmp(what, "yields"))
		forbid(SYS_sched_yield, SECCOMP_RET_KILL_PROCESS);
	else
		forbid(SYS_pwrite64, SECCOMP_RET_ERRNO | (strcmp(what, "force") ? EPERM : EIO));
	execvp(*command, command);
	return 127;
}

/* A wait that ends by itself. */

static void *compute(void *unused)
{
	while (!word)
		for (volatile int k = 0; k < 1000; k = k + 1)
			;
	return unused;
}

/* Past the least number, at which what is left to count is no number that has a negative; looks are at some of them. */
static int count_past_the_least(void)
{
	for (int k = 1; k <= 8 * TIMES; k++) {
		pthread_t setter;

		word = 0;
		need(!pthread_create(&setter, 0, set_word, 0), "no thread");
		await_so_long(&word, INT64_MIN + k);
		pthread_join(setter, 0);
	}
	return 0;
}

static int count(int n)
{
	static volatile int never;
	pthread_t threads[n];

	for (int k = 0; k < n; k++)
		need(!pthread_create(&threads[k], 0, compute, 0), "no thread");
	for (int k = 0; k < 3; k++)
		await_so_long(&never, 200000);
	word = 1;
	for (int k = 0; k < n; k++)
		pthread_join(threads[k], 0);
	return 0;
}

/* A barrier. */

static volatile int turns[2];
static int arrived, n_threads;
static volatile bool over_after[2]; /* of a round's end, told before the next begins */
static long rounds;

static volatile bool is_over;

/* Up to a number of rounds, or until all are told in the same one. */
static void *meet(void *unused)
{
	for (long k = 0; rounds ? k < rounds : !over_after[k % 2]; k++) {
		if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == n_threads) {
			arrived = 0;
			over_after[(k + 1) % 2] = is_over;
			turns[(k + 1) % 2] = 0;
			__atomic_store_n(&turns[k % 2], 1, __ATOMIC_RELEASE);
		} else {
			await(&turns[k % 2]);
		}
	}
	return unused;
}

/* The byte is written as the library writes it. */
static void toggle(long times)
{
	unsigned char *byte = (unsigned char *)await_jumped - 1;
	unsigned char original = (unsigned char)(((char *)await - (char *)await_jumped) >> HIGHEST),
		      retargeted = *byte;
	int fd = open("/proc/self/mem", O_RDWR);

	need(fd >= 0 && retargeted != original, "the jump is not retargeted");
	for (long k = 0; k < times; k++) {
		need(pwrite(fd, k % 2 ? &retargeted : &original, 1, (off_t)(uintptr_t)byte) == 1,
		     "no writing");
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	}
	is_over = true;
}

static int crowd(long times)
{
	pthread_t threads[n_threads];

	for (int k = 0; k < n_threads; k++)
		need(!pthread_create(&threads[k], 0, meet, 0), "no thread");
	if (times)
		toggle(times);
	for (int k = 0; k < n_threads; k++)
		pthread_join(threads[k], 0);
	return 0;
}

/* Libraries that come and go. */

static void *await_there(void *there)
{
	((void (*)(volatile int *))there)(&word);
	return 0;
}

static int load(char **libraries)
{
	for (int k = 0; k < TIMES; k++) {
		for (char **library = libraries; *library; library++) {
			void *opened = dlopen(*library, RTLD_NOW);
			pthread_t waiter, setter;

			need(opened, "no library");
			word = 0;
			need(!pthread_create(&waiter, 0, await_there, dlsym(opened, "waits_there")),
			     "no thread");
			need(!pthread_create(&setter, 0, set_word, 0), "no thread");
			pthread_join(waiter, 0);
			pthread_join(setter, 0);
			dlclose(opened);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "kept"))
		return keep();
	if (!strcmp(what, "both"))
		return await_two();
	if (!strcmp(what, "stepped"))
		return step();
	if (!strcmp(what, "forked")) {
		code_is_not_writable();
		return fork_and_wait();
	}
	if (!strcmp(what, "filtered"))
		return filter();
	if (!strcmp(what, "behind"))
		return behind(argv[2], argv + 3);
	if (!strcmp(what, "endless"))
		return count_past_the_least();
	if (!strcmp(what, "loaded"))
		return load(argv + 2);
	n_threads = atoi(argv[2]);
	if (!strcmp(what, "counted"))
		return count(n_threads);
	if (!strcmp(what, "toggled"))
		return crowd(atol(argv[3]));
	rounds = atol(argv[3]);
	return crowd(0);
}
