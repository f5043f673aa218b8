// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Parking a virtual CPU that waits for a spinlock, and waking it.
 *
 *	pv	the hypervisor's own calls, where KVM or Xen have installed them
 *	halt	HLT, and an NMI to wake: an NMI comes through disabled interrupts
 *	spin	nobody sleeps
 *
 * Each CPU has a record per level at which it may wait. The word waited for selects a bucket, which
 * is a mask of CPUs: a kick looks at the records of these only, and takes no lock.
 *
 *	parker				kicker
 *	record: word, key, claim	the lock's word changes
 *	[P] bit in the bucket		[K] full fence
 *	full fence			bucket, records
 *	the word still as seen?		claim the record, wake its CPU
 *
 * Either the parker sees the word changed, or the kicker sees the record.
 */
#include <linux/cc_platform.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/kcsan-checks.h>
#include <linux/kprobes.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/paravirt.h>
#include <asm/processor.h>
#include <asm/ptrace.h>
#include "counting.h"
#include "overlock.h"

#if __has_include(<asm/cpuid/api.h>)
#include <asm/cpuid/api.h>
#else
#define cpuid_base_hypervisor hypervisor_cpuid_base /* its older name */
#endif

/*
 * `claim` counts this record's sleeps in its upper bits. Its lowest byte says whether this one goes
 * on, and is what pv_wait() looks at; changing it from ASLEEP claims this sleep and no
 * other. It must not be a byte of the lock: that may have its old value again by the time the
 * hypervisor compares it.
 */
enum { AWAKE = 0, ASLEEP = 1, ONE_SLEEP = 0x100 };

struct record {
	u64 claim;
	const u32 *word;
	u32 key;
};

static DEFINE_PER_CPU(struct record[OVERLOCK_LEVELS], records);

enum { BUCKET_BITS = 6 };

static struct bucket {
	cpumask_t parked;
	unsigned int last; /* woken, when not all were: the next begins behind it */
} buckets[1 << BUCKET_BITS];

static struct bucket *bucket_of(const u32 *word)
{
	return &buckets[hash_ptr(word, BUCKET_BITS)];
}

/* The ways. */

enum way { AUTO, PV, HALT, SPIN };

static const char *const names[] = {
	[AUTO] = "auto",
	[PV] = "pv",
	[HALT] = "halt",
	[SPIN] = "spin",
};

static enum way wanted = AUTO;
static bool told; /* overlock.park= was given */
static enum way way __ro_after_init = SPIN;

const char *overlock_parking(void)
{
	return way == HALT ? "halt+nmi" : names[way];
}

/* NMIs on their way to this CPU, as far as no NMI has come since. */
static DEFINE_PER_CPU(atomic_t, woken);

/* How many are being sent to this CPU, and when the last was sent. */
static DEFINE_PER_CPU(atomic_t, sending);
static DEFINE_PER_CPU(ol_ticks_t, last_sent);

/*
 * Halts unless the record was claimed. A kick that claims it between our look and the HLT
 * comes as an NMI at one of these instructions, and its handler leads behind them. Entered with
 * interrupts disabled, else the kick could come in the handler of one that returns to the HLT. It
 * could come in a breakpoint's handler, too: noinstr keeps kprobes and breakpoints out, also behind
 * the label, where kallsyms ends the function.
 */
extern const char overlock_halt_begin[], overlock_halt_end[];
extern const char overlock_trial_begin[], overlock_trial_end[];

static noinstr __noclone void halt_while_asleep(const u64 *claim, bool enable_interrupts)
{
	asm volatile("overlock_halt_begin:\n\t"
		     "cmpb %[asleep], %[state]\n\t"
		     "jne overlock_halt_end\n\t"
		     "testb %[enable], %[enable]\n\t"
		     "jz 1f\n\t"
		     "sti\n\t" /* holds interrupts back for one more instruction */
		     "hlt\n\t"
		     "jmp overlock_halt_end\n"
		     "1:\thlt\n"
		     "overlock_halt_end:"
		     :
		     : [state] "m"(*(const u8 *)claim), [asleep] "i"(ASLEEP),
		       [enable] "q"((u8)enable_interrupts)
		     : "memory", "cc");
}

static void halt_wait(const u64 *claim)
{
	unsigned long flags;

	raw_local_irq_save(flags);
	halt_while_asleep(claim, !raw_irqs_disabled_flags(flags));
	if (!raw_irqs_disabled_flags(flags))
		raw_local_irq_enable();
}

/* With FRED an NMI returns by regs itself, and INT 2 is no way to have one. */
static bool has_one_frame(void)
{
#ifdef X86_FEATURE_FRED
	return cpu_feature_enabled(X86_FEATURE_FRED);
#else
	return false;
#endif
}

/*
 * Where an NMI that interrupted the kernel will return to. The entry code (entry_64.S, asm_exc_nmi)
 * returns by the "iret" frame, a copy of the frame in regs, which lies behind the registers.
 *
 * An exception in an NMI handler ends by IRET, which lets in NMIs. A nested NMI points the copy
 * back into the entry code, which then copies the frame in regs and calls us once more: such a copy
 * must stay. So the copy changes only while it has the ip that was judged; the entry code's is
 * another. cmpxchg_local() suffices, for the nested NMI comes on this CPU: before that instruction,
 * which then changes nothing, or after it, and then replaces the copy.
 */
static nokprobe_inline void return_to(struct pt_regs *regs, const char *place)
{
	unsigned long *copied_ip = (unsigned long *)(regs + 1);
	unsigned long judged = regs->ip;

	regs->ip = (unsigned long)place;
	if (!has_one_frame())
		cmpxchg_local(copied_ip, judged, (unsigned long)place);
}

/* User code may jump to our addresses, too. The frame of its NMI has no copy. */
static nokprobe_inline bool within(struct pt_regs *regs, const char *begin, const char *end)
{
	return !user_mode(regs) && regs->ip >= (unsigned long)begin &&
	       regs->ip < (unsigned long)end;
}

enum { JUST_NOW_NS = 100 * NSEC_PER_MSEC }; /* the CPU may have been stopped meanwhile */

static int __kprobes woken_by_nmi(unsigned int type, struct pt_regs *regs)
{
	int sent = atomic_xchg(this_cpu_ptr(&woken), 0);

	if (within(regs, overlock_halt_begin, overlock_halt_end))
		return_to(regs, overlock_halt_end);
	else if (within(regs, overlock_trial_begin, overlock_trial_end))
		return_to(regs, overlock_trial_end);
	/* Of several, one may be pending behind this one; the CPU has dropped the others. */
	if (sent > 1)
		atomic_set(this_cpu_ptr(&woken), 1);
	return sent ? NMI_HANDLED : NMI_DONE;
}

/*
 * Does an NMI just before a HLT lead past it? A HLT that is executed nevertheless ends with the
 * next timer interrupt, here where interrupts are enabled; halt_wait() would have lost a kick.
 */
static noinstr __noclone bool nmi_leads_past_halt(void)
{
	bool halted = false;

	asm volatile("overlock_trial_begin:\n\t"
		     "int $2\n\t" /* by the NMI's entry, and precisely here */
		     "hlt\n\t"
		     "movb $1, %[halted]\n"
		     "overlock_trial_end:"
		     : [halted] "+m"(halted)
		     :
		     : "memory", "cc");
	return !halted;
}

/*
 * xAPIC sends an IPI by two writes: the destination to ICR2, then the rest to ICR. An NMI may come
 * between the two. So a kick in an NMI leaves ICR2 as it was, and ICR idle, for which the
 * interrupted code has waited. An irq_work could be too late: the interrupted code may have
 * interrupts disabled and wait for a lock that the CPU to be kicked holds. x2APIC has one write.
 */
static void send_nmi(int cpu)
{
	bool between = in_nmi() && !x2apic_mode;
	u32 destination = between ? apic_read(APIC_ICR2) : 0;

	apic->send_IPI(cpu, NMI_VECTOR);
	if (!between)
		return;
	safe_apic_wait_icr_idle();
	apic_write(APIC_ICR2, destination);
}

/*
 * The NMI must see each step; the count is lowered after the time is stored. The counters'
 * steps are full barriers on x86, and send_IPI() has a fence where the APIC needs one.
 */
static void halt_kick(int cpu)
{
	atomic_inc(&per_cpu(sending, cpu));
	atomic_inc(&per_cpu(woken, cpu));
	send_nmi(cpu);
	WRITE_ONCE(per_cpu(last_sent, cpu), ol_now());
	atomic_dec(&per_cpu(sending, cpu));
}

/*
 * An NMI that nobody knows. It can still be ours: another's came between our announcement and our
 * NMI, and was taken for it. So it is if one was sent just now. In a system that hangs nobody sends
 * any: there an operator's NMI is not mistaken for a kick.
 */
static int __kprobes woken_unknowingly(unsigned int type, struct pt_regs *regs)
{
	s64 since = ol_now() - READ_ONCE(*this_cpu_ptr(&last_sent));

	return atomic_read(this_cpu_ptr(&sending)) || since < JUST_NOW_NS ? NMI_HANDLED : NMI_DONE;
}

/* Without PARAVIRT_SPINLOCKS there is nobody to ask. */
#ifdef CONFIG_PARAVIRT_SPINLOCKS
static bool pv_is_there(void)
{
	return !pv_is_native_spin_unlock(); /* replaced together with the wait */
}

static void pv_sleep(u64 *claim)
{
	pv_wait((u8 *)claim, ASLEEP);
}

static void pv_wake(int cpu)
{
	pv_kick(cpu);
}
#else
static bool pv_is_there(void)
{
	return false;
}

static void pv_sleep(u64 *claim)
{
}

static void pv_wake(int cpu)
{
}
#endif

/* The platform layer's two calls. */

static void sleep(struct record *mine)
{
	overlock_sleeps();
	if (way == PV)
		pv_sleep(&mine->claim);
	else
		halt_wait(&mine->claim);
	overlock_woke();
}

static void wake(int cpu)
{
	if (way == PV)
		pv_wake(cpu);
	else
		halt_kick(cpu);
}

/*
 * Nothing here wakes a CPU at a given time. So a timed wait sleeps only where the next tick ends
 * it, which may be a tick late. An NMI handler polls: it could not be woken by one. So does a CPU
 * on its way up or down: its NMIs are ignored, our handler is not called.
 */
static bool may_sleep(unsigned int level, unsigned int cpu, ol_ticks_t until)
{
	return way != SPIN && level < OVERLOCK_LEVELS && !in_nmi() && cpu_online(cpu) &&
	       (until == OL_NEVER || (overlock_tick_ends_halt() && !ol_passed(until)));
}

static void poll(const u32 *word, u32 seen, ol_ticks_t until)
{
	overlock_poll(word, seen, until);
	if (READ_ONCE(*word) == seen && !ol_passed(until))
		overlock_give_way();
}

void ol_park(const u32 *word, u32 seen, u32 key, ol_ticks_t until)
{
	unsigned int level = overlock_level(), cpu = raw_smp_processor_id();
	struct bucket *bucket = bucket_of(word);
	struct record *mine;
	bool first;

	if (!may_sleep(level, cpu, until)) {
		poll(word, seen, until);
		return;
	}
	mine = &per_cpu(records, cpu)[level];
	WRITE_ONCE(mine->word, word);
	WRITE_ONCE(mine->key, key);
	/* Pairs with kick(): who sees this sleep sees what it is on. */
	smp_store_release(&mine->claim, (mine->claim & ~0xffull) + ONE_SLEEP + ASLEEP);
	/* Whom we have interrupted may park in this bucket, too: then the bit is its own. */
	first = !cpumask_test_and_set_cpu(cpu, &bucket->parked); /* [P], and the full fence */
	if (READ_ONCE(*word) == seen)
		sleep(mine);
	if (first)
		cpumask_clear_cpu(cpu, &bucket->parked);
	WRITE_ONCE(*(u8 *)&mine->claim, AWAKE);
	if (IS_ENABLED(CONFIG_OVERLOCK_COUNT) && READ_ONCE(*word) == seen)
		ol_count(OL_SPURIOUS);
}
EXPORT_SYMBOL_GPL(ol_park);

/* Wakes the context that parks on the word in this record. */
static bool kick(struct record *other, int cpu, const u32 *word, u32 key)
{
	u64 claim = smp_load_acquire(&other->claim); /* from ol_park() */

	if ((u8)claim != ASLEEP || READ_ONCE(other->word) != word || !(READ_ONCE(other->key) & key))
		return false;
	if (!try_cmpxchg(&other->claim, &claim, claim - ASLEEP + AWAKE))
		return false; /* it is awake, or has been kicked */
	wake(cpu);
	return true;
}

/*
 * Bits are set and cleared while this looks, and either value will do: who must be seen was there
 * before [K]. data_race() would say so, but not in a file that is not instrumented.
 */
static int next_parked(int cpu, const struct bucket *bucket)
{
	kcsan_disable_current();
	cpu = cpumask_next(cpu, &bucket->parked);
	kcsan_enable_current();
	return cpu;
}

/* Kicks those of the CPUs from `from` up to `end` that park on the word: were these all of `*n`? */
static bool kick_parked(struct bucket *bucket, int from, int end, const u32 *word, u32 key, int *n)
{
	unsigned int level;
	int cpu = from - 1;

	while ((cpu = next_parked(cpu, bucket)) < end) {
		for (level = 0; level < OVERLOCK_LEVELS; level++) {
			if (!kick(&per_cpu(records, cpu)[level], cpu, word, key) || --*n)
				continue;
			WRITE_ONCE(bucket->last, cpu);
			return true;
		}
	}
	return false;
}

/* In turns: first those after the one who was kicked last. */
void ol_kick(const u32 *word, u32 key, int n)
{
	struct bucket *bucket = bucket_of(word);
	int next;

	if (way == SPIN)
		return;
	smp_mb(); /* [K] */
	next = READ_ONCE(bucket->last) + 1;
	if (!kick_parked(bucket, next, nr_cpu_ids, word, key, &n))
		kick_parked(bucket, 0, next, word, key, &n);
}
EXPORT_SYMBOL_GPL(ol_kick);

/* Which way. */

/*
 * An NMI must end a HLT with interrupts disabled. It does on a CPU (SDM, HLT), under KVM
 * (kvm_vcpu_has_events()) and under QEMU's translator (x86_cpu_pending_interrupt()). Elsewhere it
 * need not: Xen takes such a vCPU down for good (hvm_hlt()); bhyve stops the machine when all vCPUs
 * halt that way (vm_handle_hlt()).
 */
static bool __init hypervisor_ends_halt(void)
{
	return !boot_cpu_has(X86_FEATURE_HYPERVISOR) ||
	       cpuid_base_hypervisor("KVMKVMKVM\0\0\0", 0) ||
	       cpuid_base_hypervisor("TCGTCGTCGTCG", 0);
}

/* What its first leaf says, for people. */
static const char *__init hypervisor(void)
{
	static char signature[13] __initdata;
	u32 words[4];

	cpuid(0x40000000, &words[0], &words[1], &words[2], &words[3]);
	memcpy(signature, &words[1], 12);
	return signature[0] ? signature : "without a signature";
}

/*
 * The reason against HLT, or null. In a confidential guest HLT raises #VC or #VE, and the NMI may
 * come in its handler, which then halts.
 */
static const char *__init against_halt(void)
{
	static char reason[100] __initdata;

	if (boot_cpu_has(X86_FEATURE_XENPV))
		return "a Xen PV guest cannot halt or send NMIs by itself";
	if (!boot_cpu_has(X86_FEATURE_APIC))
		return "no local APIC sends NMIs";
	if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
		return "HLT is unsafe in a confidential guest";
	if (hypervisor_ends_halt())
		return NULL;
	snprintf(reason, sizeof(reason), "no NMI is known to end a HLT under hypervisor %s",
		 hypervisor());
	return reason;
}

static const char *__init against(enum way asked)
{
	if (asked == PV)
		return pv_is_there() ? NULL : "no hypervisor parks waiters here";
	return asked == HALT ? against_halt() : NULL;
}

static bool __init trial_passes(void)
{
	if (has_one_frame())
		return true;
	atomic_inc(this_cpu_ptr(&woken)); /* what comes is ours, not an unknown NMI */
	return nmi_leads_past_halt();
}

static bool __init halt_works(void)
{
	if (register_nmi_handler(NMI_LOCAL, woken_by_nmi, 0, "overlock")) {
		pr_warn("overlock: no NMI handler: park=spin\n");
		return false;
	}
	if (trial_passes())
		/* Without it an NMI now and then is called unknown, which is all. */
		return register_nmi_handler(NMI_UNKNOWN, woken_unknowingly, 0, "overlock") || true;
	unregister_nmi_handler(NMI_LOCAL, "overlock");
	pr_warn("overlock: an NMI does not lead past a HLT here: park=spin\n");
	return false;
}

static enum way __init best_way(void)
{
	if (!against(PV))
		return PV;
	return against(HALT) ? SPIN : HALT;
}

/*
 * With the kernel's own spinlock only the waits of <overlock/wait/> park, and only if asked to: who
 * has none of them shall have no NMI handler of ours.
 */
static bool __init somebody_parks(void)
{
	return (told || static_key_enabled(&overlock_chosen)) && num_possible_cpus() > 1;
}

/*
 * After the hypervisor's code has had its say, which it has in smp_prepare_boot_cpu(), and before
 * there is a second CPU to wait for.
 */
static int __init choose_way(void)
{
	enum way best = best_way(), asked = wanted;

	if (!somebody_parks())
		return 0;
	if (asked == AUTO)
		asked = best == PV ? PV : HALT;
	if (against(asked)) {
		pr_warn("overlock: park=%s refused: %s; park=%s instead\n", names[asked],
			against(asked), names[best]);
		asked = best;
	}
	way = asked == HALT && !halt_works() ? SPIN : asked;
	return 0;
}
early_initcall(choose_way);

static int set_park(const char *text, const struct kernel_param *param)
{
	int found = sysfs_match_string(names, text);

	if (found < 0) {
		pr_err("overlock: park=%s is none of auto, pv, halt, spin\n", text);
		return found;
	}
	wanted = found;
	told = true;
	return 0;
}

static int get_park(char *text, const struct kernel_param *param)
{
	return sprintf(text, "%s\n", names[wanted]);
}

static const struct kernel_param_ops park_ops = { .set = set_park, .get = get_park };
module_param_cb(park, &park_ops, NULL, 0444);
