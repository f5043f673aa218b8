# SPDX-License-Identifier: MIT
"""From facts to a verdict: one table of rules, each a condition, what it means, what to do."""

from math import inf

from overlock_tools.core.model.advice import say
from overlock_tools.core.system.machine import BUSY_SHARE
from overlock_tools.doctor.fact import Known
from overlock_tools.doctor.judging import Answer, Finding, Rule, Scope, Values, finding

# Below this share of waiting, what a program loses is within the noise of its machine.
SOME_WAITING = 0.05
# From this share on, a thread is off its CPU for a fifth of the time it holds a lock, too.
MUCH_WAITING = 0.2
# So much more than the CPUs is not an accident of sampling.
OVER = 1.1
IDLE_CPUS = 0.01
# Stopped in a smaller share of its periods, a group met its quota by accident, as at its start.
OFTEN_THROTTLED = 0.05
# From here on a look at the clock is a system call or a slow device; without either it is some 20.
SLOW_CLOCK_NS = 200
# A base slice from which on a preempted holder is missed for long even by patient waiters.
LONG_SLICE_NS = 3_000_000

FIT = (
    "free, if it counts the CPUs by itself: overlock run --fit -- PROGRAM, which is told how many "
    "its quota pays for"
)
THROTTLED_ADVICE = (
    FIT,
    "raise the quota to what the threads want at their peak, or start no more threads than it pays "
    "for (GOMAXPROCS, OMP_NUM_THREADS, pool sizes)",
    *say("quota"),
)

# Which lock, from advice.toml: docs/choosing.md has the measurements.
LOCK_ADVICE = say("fifo-threads", "spin-threads", "mutex-threads")

# Whether it helps depends on the loops, which cannot be seen from outside.
FREE_TRIAL = (
    "a free trial, if it spins while its threads wait for CPUs: overlock run --spins -- PROGRAM, "
    "in which waiting loops yield"
)

# The free remedies first. What each setting changes is in the runtimes' sources.
FEWER_OPENMP_THREADS = (
    "free: OMP_NUM_THREADS={threads_fit}, as many threads as fit; less if several threads start "
    "teams"
)
OF_OPENMP = (
    "threads that fit: {threads_fit} (quota: {quota}). It runs on {openmp}, whose omp_*_lock and "
    "critical have this lock: {openmp_lock}."
)
IF_FIFO = (
    " If its threads wait for it, one without a CPU stops all behind it; whether they do cannot be "
    "seen from outside."
)
OPENMP_LOCK_ADVICE = (
    "free: KMP_LOCK_KIND=tas, the runtime's test-and-set lock, for omp_*_lock and critical; locks "
    "with the hint omp_sync_hint_contended stay FIFO",
    *say("openmp-threads"),
)

CROWDED_ADVICE = (
    "fewer threads, as many as there are CPUs; or move the neighbours away, or pin them elsewhere",
    *LOCK_ADVICE,
    "look at the program itself: overlock doctor --pid PID",
)


def crowded(v: Values) -> bool:
    """More threads want to run than there are CPUs."""
    wanting, queued = v["runnable"] > v["cpus_online"] * OVER, v["queued"] / v["cpus_online"]
    return bool(wanting or queued >= MUCH_WAITING)


def outnumbers(v: Values) -> bool:
    """Its threads are more than its CPUs; one alone waits for no holder, whatever its quota."""
    return bool(v["wanting"] > max(1.0, v.cpus) * OVER)


def suffers(v: Values) -> bool:
    """Its threads wait for CPUs, and it is not known that this harms nothing else."""
    return bool(v["waiting"] >= MUCH_WAITING and not is_efficient(v))


def starved(v: Values) -> bool:
    """Because they outnumber them."""
    return suffers(v) and outnumbers(v)


def fifo_openmp(v: Values) -> bool:
    return v.part("openmp_lock", "fifo") is True


def is_efficient(v: Values) -> bool:
    """As far as was seen, its threads hardly wait for each other."""
    return bool(
        v.part("held_up", "share") < SOME_WAITING and v.part("spinning", "share") < SOME_WAITING
    )


def too_large_a_team(v: Values) -> bool:
    return bool(v["openmp_threads"] > v["threads_fit"])


def has_kernel(v: Values) -> bool:
    """Of its own: who is in a container does not choose it."""
    return v.part("container", "inside") is not True


RULES = (
    Rule(
        "spins",
        Answer.YES,
        Scope.PROCESS,
        lambda v: v.part("spinning", "burnt") >= SOME_WAITING,
        "it burns CPU time on spinning while threads of it lack CPUs: {spinning}. Its threads wait "
        "for a CPU {waiting}.",
        ("{remedy}", "all of it: overlock profile --pid PID"),
    ),
    Rule(
        "held_up",
        Answer.YES,
        Scope.PROCESS,
        lambda v: (
            v.part("held_up", "share") >= MUCH_WAITING
            and not v.part("spinning", "burnt") >= SOME_WAITING
        ),
        "its threads spend {held_up} of their active time waiting for each other.",
        ("{remedy}", "all of it: overlock profile --pid PID"),
    ),
    Rule(
        "openmp_fifo",
        Answer.YES,
        Scope.PROCESS,
        lambda v: fifo_openmp(v) and starved(v),
        "waits for a CPU {waiting}; runnable threads: {wanting}; " + OF_OPENMP + IF_FIFO,
        (FEWER_OPENMP_THREADS, *OPENMP_LOCK_ADVICE),
    ),
    Rule(
        "openmp_fifo_crowded_out",
        Answer.LIKELY,
        Scope.PROCESS,
        lambda v: fifo_openmp(v) and suffers(v) and not starved(v),
        "waits for a CPU {waiting}, although it has enough CPUs for its runnable threads "
        "({wanting}); " + OF_OPENMP + IF_FIFO,
        OPENMP_LOCK_ADVICE,
    ),
    Rule(
        "openmp_crowded",
        Answer.YES,
        Scope.PROCESS,
        lambda v: v.part("openmp_lock", "fifo") is False and starved(v),
        "waits for a CPU {waiting}; runnable threads: {wanting}; " + OF_OPENMP + " At a barrier "
        "all threads of a team wait for one without a CPU.",
        (FEWER_OPENMP_THREADS,),
    ),
    Rule(
        "throttled",
        Answer.YES,
        Scope.BOTH,
        lambda v: v["throttled"] > 0 and not is_efficient(v),
        "the CPU quota ({quota}) stopped the whole group {throttled}: all its threads, lock "
        "holders included, stop until the period ends.",
        THROTTLED_ADVICE,
    ),
    Rule(
        "stolen",
        Answer.YES,
        Scope.BOTH,
        lambda v: v["stolen"] >= BUSY_SHARE,
        "the hypervisor took {stolen} of the CPUs: vCPUs are preempted, and this kernel cannot see "
        "when.",
        (
            "on the host: fewer vCPUs per CPU, CPUs of their own (pinned, or an instance type that "
            "has them), fewer vCPUs in this guest",
            *say("kernel-queue", "fifo-neighbours", "mutex-neighbours"),
        ),
    ),
    Rule(
        "starved",
        Answer.YES,
        Scope.PROCESS,
        starved,
        "waits for a CPU {waiting}; runnable threads: {wanting}; CPUs it may use: {cpus_usable}, "
        "quota: {quota}; involuntary switches: {involuntary}. Lock-holder preemption is likely if "
        "it uses spinlocks or spinning mutexes; that cannot be seen from outside.",
        (
            "fewer threads than CPUs, or more CPUs",
            *LOCK_ADVICE,
            "see whether its threads wait for mutexes: overlock run --counters -- PROGRAM",
            "each lock on this machine: overlock bench sections --threads 1x,2x,4x",
        ),
    ),
    Rule(
        "crowded_out",
        Answer.LIKELY,
        Scope.PROCESS,
        lambda v: (
            suffers(v)
            and not outnumbers(v)
            and not v["throttled"] > 0
            and not v.part("spinning", "burnt") >= SOME_WAITING
        ),
        "waits for a CPU {waiting}, although it has enough CPUs for its runnable threads "
        "({wanting}): other programs use them, or its threads share a few of them.",
        (
            "find the others (top), move them away, or give this program CPUs of its own (taskset, "
            "a cpuset)",
            *say("fifo-neighbours", "mutex-neighbours"),
            "what neighbours do to each lock: overlock bench sections --background 2:hogs",
        ),
    ),
    Rule(
        "openmp_may_crowd",
        Answer.POSSIBLE,
        Scope.PROCESS,
        lambda v: too_large_a_team(v) and not starved(v),
        "threads of a team: {openmp_threads}; CPUs: {cpus_usable}; " + OF_OPENMP,
        (FEWER_OPENMP_THREADS,),
    ),
    Rule(
        "openmp_spins",
        Answer.NOTE,
        Scope.PROCESS,
        lambda v: (
            v.part("openmp_barriers", "spin") is True
            and (v["waiting"] >= MUCH_WAITING or too_large_a_team(v))
        ),
        "at the barriers of {openmp}, waiters take CPU time from the threads for which they wait "
        "({openmp_barriers}).",
        say("openmp-barriers"),
    ),
    Rule(
        "own_spinlocks",
        Answer.NOTE,
        Scope.PROCESS,
        lambda v: starved(v) and v.some("own_locks", "spins"),
        "it brings spinlocks of its own ({own_locks}).",
        (
            "{threads_fit} threads, which fit the CPUs",
            FREE_TRIAL,
            *say("fifo-threads", "spin-threads"),
        ),
    ),
    Rule(
        "waits_some",
        Answer.POSSIBLE,
        Scope.PROCESS,
        lambda v: SOME_WAITING <= v["waiting"] < MUCH_WAITING and not is_efficient(v),
        "waits for a CPU {waiting}: if it holds a lock meanwhile, other threads wait too. The "
        "longest waits show it first.",
        ("look at the tail under each lock: overlock bench sections, column p99.9",),
    ),
    Rule(
        "fits",
        Answer.NO,
        Scope.PROCESS,
        lambda v: (
            v["waiting"] < SOME_WAITING
            and v["on_cpu"] >= IDLE_CPUS
            and not v["stolen"] >= BUSY_SHARE
            and not v["throttled"] > 0
        ),
        "as far as this kernel can see, its threads rarely waited for a CPU (waited {waiting}): "
        "preemption does not slow it now.",
        ("if it is slow, profile it: perf record -g -p PID",),
    ),
    Rule(
        "efficient",
        Answer.NO,
        Scope.PROCESS,
        lambda v: is_efficient(v) and (v["waiting"] >= SOME_WAITING or v["throttled"] > 0),
        "its threads wait for CPUs ({waiting}), and hardly for each other (spinning: {spinning}; "
        "lost to waits: {held_up}), as far as its code tells: loops that call functions may wait "
        "unseen. So it makes use of the CPU time that it gets.",
        ("more CPUs, or a higher quota ({quota}), if it is to do more: no lock seems in its way",),
    ),
    Rule(
        "was_idle",
        Answer.BLIND,
        Scope.PROCESS,
        lambda v: v["on_cpu"] < IDLE_CPUS and not v["waiting"] >= MUCH_WAITING,
        "it hardly ran during the observation.",
        ("look again while it works, and for longer: --seconds 30",),
    ),
    Rule(
        "unseen",
        Answer.BLIND,
        Scope.PROCESS,
        lambda v: v.unknown("waiting"),
        "the time that its threads wait for CPUs is unknown ({waiting}).",
        ("run the command as the program's user, in its container, on a kernel with schedstat",),
    ),
    Rule(
        "only_user",
        Answer.NOTE,
        Scope.PROCESS,
        lambda v: (
            v["user_mode"] >= 0.95
            and v["on_cpu"] >= 0.1
            and v["voluntary"] * 10 < v["involuntary"]
            and not v.part("spinning", "share") >= 0
        ),
        "it never sleeps and stays in user mode ({user_mode}): it computes or spins. These look "
        "the same from outside.",
        (
            "which of the two, and in which loops it spins: overlock profile --pid PID",
            FREE_TRIAL,
        ),
    ),
    Rule(
        "sleeps_in_futex",
        Answer.NOTE,
        Scope.PROCESS,
        lambda v: v["voluntary"] >= 100 and v.part("asleep_in", "futex") >= 0.5,
        "its threads sleep in futex(2), {voluntary}: on a contended mutex, on condition variables, "
        "in a pool without work, or for an interpreter's own lock, as CPython's.",
        (
            *say("mutex-threads"),
            "see which mutexes: overlock run --counters -- PROGRAM",
        ),
    ),
    Rule(
        "crowded",
        Answer.YES,
        Scope.MACHINE,
        crowded,
        "there are more runnable threads than CPUs ({runnable}, on {cpus_online} CPUs): the "
        "scheduler preempts threads, lock holders among them.",
        CROWDED_ADVICE,
    ),
    Rule(
        "pressure",
        Answer.LIKELY,
        Scope.MACHINE,
        lambda v: v["pressure"] >= MUCH_WAITING and not crowded(v),
        "at least one thread waits for a CPU {pressure}, although on average few are runnable "
        "({runnable}): threads run in bursts, or are restricted to too few CPUs.",
        CROWDED_ADVICE,
    ),
    Rule(
        "throttled_before",
        Answer.LIKELY,
        Scope.BOTH,
        lambda v: v["throttled"] == 0 and v.part("throttled_ever", "share") >= OFTEN_THROTTLED,
        "the CPU quota ({quota}) has stopped the group before ({throttled_ever}), but not during "
        "the observation.",
        THROTTLED_ADVICE,
    ),
    Rule(
        "throttled_seldom",
        Answer.NOTE,
        Scope.BOTH,
        lambda v: v["throttled"] == 0 and 0 < v.part("throttled_ever", "share") < OFTEN_THROTTLED,
        "the CPU quota ({quota}) stopped the group occasionally ({throttled_ever}), but not during "
        "the observation.",
        THROTTLED_ADVICE,
    ),
    Rule(
        "miscounted",
        Answer.POSSIBLE,
        Scope.PROCESS,
        lambda v: (
            (v["quota"] or inf) <= v["cpus_usable"] - 1 and v.part("counting", "miscounts") is True
        ),
        "it may have counted all CPUs that it may use ({cpus_usable}), and its quota is {quota}. "
        "In the versions that were asked, {counting}.",
        (FIT,),
    ),
    Rule(
        "quota",
        Answer.POSSIBLE,
        Scope.MACHINE,
        lambda v: (
            (v["quota"] or inf) < v["cpus_usable"]
            and v["throttled"] == 0
            and v.part("throttled_ever", "share") < OFTEN_THROTTLED
        ),
        "the quota of {quota} is less than the usable CPUs ({cpus_usable}): when that many threads "
        "run, the kernel stops all of them for the rest of each period.",
        THROTTLED_ADVICE,
    ),
    Rule(
        "pinned",
        Answer.POSSIBLE,
        Scope.MACHINE,
        lambda v: v["cpus_usable"] < v["cpus_online"],
        "only {cpus_usable} of {cpus_online} CPUs are usable: a program that starts one thread per "
        "CPU of the machine starts too many.",
        ("start as many threads as `nproc` says; why: overlock bench sections --threads 1x,2x",),
    ),
    Rule(
        "no_steal_time",
        Answer.BLIND,
        Scope.MACHINE,
        lambda v: v["steal_reported"] is False or (v.is_guest and v.unknown("steal_reported")),
        "{hypervisor} may not report stolen time to this guest: preemption of vCPUs by the host is "
        "invisible here.",
        ("ask on the host, or compare: overlock bench sections at 1x, whose range shows it",),
    ),
    Rule(
        "quota_unseen",
        Answer.BLIND,
        Scope.BOTH,
        lambda v: v.unknown("quota"),
        "a CPU quota may apply, but is not visible here ({quota}).",
        ("mount the cgroup file system into the container, or ask outside for its limits",),
    ),
    Rule(
        "load_unseen",
        Answer.BLIND,
        Scope.MACHINE,
        lambda v: v.unknown("runnable") and v.unknown("queued") and v.unknown("pressure"),
        "the number of runnable threads is not visible here ({runnable}).",
        ("run the command outside the container as well",),
    ),
    Rule(
        "hidden_limits",
        Answer.NOTE,
        Scope.MACHINE,
        lambda v: v["hidden_limits"] is True,
        "this is a container ({container}): a quota above its own group is not visible.",
        ("compare with what the engine was told (docker inspect, resources.limits.cpu)",),
    ),
    Rule(
        "slice_unseen",
        Answer.NOTE,
        Scope.MACHINE,
        lambda v: v.unknown("slice"),
        "the end of a time slice is unknown here ({slice}): i_spin and i_spin_pv behave as ticket "
        "locks, warned as a test-and-set lock, and they count UNKNOWN_SLICE.",
        ("ask for a kernel of 6.12 or later, which tells a thread its slice",),
    ),
    Rule(
        "unfair_kernel",
        Answer.NOTE,
        Scope.MACHINE,
        lambda v: v["kernel_spinlock"] == "unfair" and has_kernel(v),
        "the guest kernel's own spinlock is an unfair test-and-set: it tolerates preempted vCPUs.",
        say("kernel-tas"),
    ),
    Rule(
        "native_kernel_lock_in_guest",
        Answer.NOTE,
        Scope.MACHINE,
        lambda v: (
            v["kernel_spinlock"] == "native"
            and v.is_guest
            and v["cpus_online"] > 1
            and has_kernel(v)
        ),
        "this guest's kernel uses native queue spinlocks ({kernel_spinlock}): one preempted vCPU "
        "stops all that queue behind it.",
        (
            "right only while each vCPU has a CPU of its own",
            *say("kernel-queue"),
        ),
    ),
    Rule(
        "slow_clock",
        Answer.NOTE,
        Scope.MACHINE,
        lambda v: v["clock"] >= SLOW_CLOCK_NS,
        "a clock read takes {clock} (time stamp counter: {tsc}; clock source: {clocksource}); "
        "locks with time bounds read it on every slow path.",
        ("on the host or at boot: an invariant TSC and clocksource=tsc, if it can be trusted",),
    ),
    Rule(
        "counters_disagree",
        Answer.NOTE,
        Scope.MACHINE,
        lambda v: v["tsc_sync"] is False,
        "the CPUs' counters differ ({tsc_sync}): times measured across CPUs are wrong.",
        ("boot with clocksource=hpet or tsc=unstable; do not trust hand-over times measured here",),
    ),
    Rule(
        "rtm_aborts",
        Answer.NOTE,
        Scope.MACHINE,
        lambda v: v["rtm"] == "aborts",
        "the CPU offers transactions but aborts them ({rtm}): lock elision only costs time.",
        ("build without elision; glibc: leave glibc.elision.enable at 0",),
    ),
    Rule(
        "rtm_works",
        Answer.NOTE,
        Scope.MACHINE,
        lambda v: v["rtm"] == "works",
        "transactions work: a preempted holder of an elided lock delays no other thread, because "
        "its transaction aborts.",
        ("try glibc's: GLIBC_TUNABLES=glibc.elision.enable=1 PROGRAM",),
    ),
    Rule(
        "long_slice",
        Answer.NOTE,
        Scope.MACHINE,
        lambda v: v["slice"] >= LONG_SLICE_NS,
        "time slices are long ({slice}): a preempted holder is off its CPU for at least that long.",
        ("a program may ask for shorter ones; what they do: overlock bench sections --slice 0.5",),
    ),
    Rule(
        "powersave",
        Answer.NOTE,
        Scope.MACHINE,
        lambda v: v["governor"] == "powersave",
        "the frequency governor is powersave: measurements will vary.",
        ("cpupower frequency-set -g performance, while you measure",),
    ),
    Rule(
        "free",
        Answer.NO,
        Scope.MACHINE,
        lambda v: (
            v["runnable"] >= 0
            and not crowded(v)
            and not v["pressure"] >= MUCH_WAITING
            and not v["stolen"] >= BUSY_SHARE
            and not v["throttled"] > 0
        ),
        "{runnable} runnable threads on {cpus_online} CPUs, {stolen} stolen: no threads lose CPUs "
        "now.",
        (
            "ask again while the program works, or look at it: overlock doctor --pid PID",
            "what overcommit would do here: overlock bench sections --threads 1x,2x,4x",
        ),
    ),
)


def judge(known: list[Known], pid: int | None, rules: tuple[Rule, ...] = RULES) -> list[Finding]:
    """What applies, the gravest first; of a process, what concerns itself before its machine."""
    values = Values(known)
    fired = [
        finding(rule, values)
        for rule in rules
        if not (rule.scope is Scope.PROCESS and pid is None) and rule.when(values)
    ]
    order = list(Answer)

    def rank(finding: Finding) -> tuple[bool, int]:
        aside = pid is not None and finding.rule.scope is Scope.MACHINE
        return aside, order.index(finding.rule.answer)

    return sorted(fired, key=rank)
