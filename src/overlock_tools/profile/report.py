# SPDX-License-Identifier: MIT
"""What was seen, as the document that `--json` writes and that all else is made from."""

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

from overlock_tools.profile import advice, causes, kinds, show, spins
from overlock_tools.profile.kinds import Kind
from overlock_tools.profile.naming import Frame, Kernel, Names
from overlock_tools.profile.seen import HOLDER, Cause, KernelLock, Lock, Seen, Stack
from overlock_tools.system.reading import Count
from overlock_tools.system.symbols import Call

FORMAT = "overlock profile 1"
MOST = 100  # locks that are listed, those with the longest waits
STACKS = 10  # of each lock
ABLE = ("running", "preempted", "throttled", "waking")
# Of the C and C++ libraries: what hides who calls, not who does.
HIDING = ("/usr/include/", "/usr/lib/", "/lib/", "../")
LIBRARIES = (
    "libc.so",
    "libpthread",
    "libstdc++",
    "ld-linux",
    "libgomp",
    "libomp",
    "libiomp5",
    "libc++",
)
# Of the kernel: what waits for any lock.
WAITS_IN_KERNEL = (
    "trace", "bpf", "__bpf", "queued_", "native_", "_raw_", "__mutex", "mutex_", "down_", "rwsem_",
    "__down", "percpu_", "rt_mutex", "__rt_mutex", "up_", "rwbase", "__pv_", "pv_",
)  # fmt: skip

Report = dict[str, Any]


def is_library(path: str) -> bool:
    return any(name in path.rpartition("/")[2] for name in LIBRARIES)


def _call_site(frames: list[Frame], names: Names) -> Call:
    """The innermost call that is the program's own."""
    for frame in frames:
        if is_library(names.path(frame)) or not names.path(frame):
            continue
        for call in names.calls(frame):
            if not (call.file or "").startswith(HIDING):
                return call
    return names.calls(frames[0])[0] if frames else Call("?")


def _frames(stack: Stack) -> list[Frame]:
    return [(module, offset) for module, offset in stack.frames]


def _all_calls(frames: list[Frame], names: Names) -> tuple[Call, ...]:
    return tuple(call for frame in frames for call in names.calls(frame))


def _stacks(found: list[Stack], names: Names) -> list[Report]:
    weight = "ns" if any(stack.ns for stack in found) else "seen"
    found = sorted(found, key=lambda stack: -getattr(stack, weight))[:STACKS]
    return [
        {
            "of": stack.of,
            "state": stack.state,
            "seen": stack.seen,
            "ns": stack.ns,
            "calls": [call.to_json() for call in _all_calls(_frames(stack), names)],
        }
        for stack in found
    ]


def _who(found: list[Cause]) -> list[Report]:
    """What kept the thread that all waited for, the most first."""
    sums: Counter[tuple[object, ...]] = Counter()
    for one in found:
        cause = causes.BY_PART[one.role, one.state].name
        sums[cause, one.taker, one.sibling, one.call] += one.ns
    return [_one_who(key, ns) for key, ns in sums.most_common()]


def _kind(lock: Lock, stacks: list[Stack], names: Names) -> Kind:
    waiters = [stack for stack in stacks if stack.of == "waiter"]
    longest = max(waiters, key=lambda stack: stack.ns, default=None)
    return kinds.of(lock, _all_calls(_frames(longest), names) if longest else ())


def _futex(lock: Lock, stacks: list[Stack], found: list[Cause], names: Names) -> Report:
    waiters = sorted((s for s in stacks if s.of == "waiter"), key=lambda stack: -stack.ns)
    site = _call_site(_frames(waiters[0]), names) if waiters else Call(None)
    kind = _kind(lock, stacks, names)
    return {
        "name": names.variable((lock.module, lock.offset)),
        "locks": 1,
        "ran_ns": 0,
        "site": site.to_json(),
        "address": lock.address,
        "kind": kind.name,
        "is_lock": kind.is_lock,
        "holder_by": "the mutex" if lock.owners else "its wake-ups",
        "waits": lock.waits,
        "wait_ns": lock.wait_ns,
        "longest_ns": lock.longest_ns,
        "gave_up": lock.gave_up,
        "waiting": lock.waiting,
        "split": causes.split(lock.waited),
        "wall": causes.split(lock.wall),
        "who": _who(found),
        "stacks": _stacks(waiters, names) + _stacks([s for s in stacks if s.of == HOLDER], names),
    }


def _spin(spin: spins.Spin, seen: Seen, names: Names) -> Report:
    frame = spin.frames.most_common(1)[0][0]
    ns = round(spin.samples * 1e9 / seen.hertz)
    total = sum(spin.by_cause.values())
    split = {name: ns * n // total for name, n in spin.by_cause.items()}
    return _spinning(names.calls(frame)[0], kinds.SPINLOCK) | {
        "address": spin.address,
        "wait_ns": ns,
        "ran_ns": ns,
        "split": split,
    }


def _yields(seen: Seen, names: Names) -> list[Report]:
    """By where in the program: the time of those that yield, and what they run meanwhile."""
    stacks = [stack for stack in seen.stacks if stack.of == "yielder"]
    ran = round(seen.samples_yield * 1e9 / seen.hertz)
    total = sum(stack.seen for stack in stacks)
    return [_yield(stack, names, seen.times.get("yielding", 0), ran, total) for stack in stacks]


def _yield(stack: Stack, names: Names, gave_ns: int, ran_ns: int, total: int) -> Report:
    ns = (gave_ns + ran_ns) * stack.seen // total
    kind = kinds.of_yields(_all_calls(_frames(stack), names))
    return _spinning(_call_site(_frames(stack), names), kind) | {
        "holder_by": "nothing",
        "wait_ns": ns,
        "ran_ns": ran_ns * stack.seen // total,
        "split": {"yields": ns},
        "stacks": _stacks([replace(stack, of="waiter", ns=Count(ns))], names),
    }


def _spinning(site: Call, kind: Kind) -> Report:
    """What is known of a lock of which the kernel sees nothing."""
    return {
        "name": "",
        "locks": 1,
        "site": site.to_json(),
        "address": 0,
        "kind": kind.name,
        "is_lock": kind.is_lock,
        "holder_by": "a guess",
        "waits": 0,
        "wait_ns": 0,
        "ran_ns": 0,  # of the waits, what was spent on a CPU
        "longest_ns": 0,
        "gave_up": 0,
        "waiting": 0,
        "split": {},
        "wall": {},
        "who": [],
        "stacks": [],
    }


def _kernel_lock(lock: KernelLock, kernel: Kernel) -> Report:
    functions = [kernel.function(address) for address in lock.frames]
    own = [name for name in functions if not name.startswith(WAITS_IN_KERNEL)]
    return {
        "function": own[0] if own else "?",
        "stack": functions,
        "waits": lock.waits,
        "wait_ns": lock.ns,
        "longest_ns": lock.longest_ns,
    }


def _kernel_locks(seen: Seen) -> list[Report]:
    """Those of one function are one."""
    kernel = Kernel()
    sums: dict[str, Report] = {}
    for lock in seen.kernel_locks:
        one = _kernel_lock(lock, kernel)
        before = sums.setdefault(one["function"], one)
        if before is not one:
            before["waits"] += one["waits"]
            before["wait_ns"] += one["wait_ns"]
            before["longest_ns"] = max(before["longest_ns"], one["longest_ns"])
    return sorted(sums.values(), key=lambda lock: -lock["wait_ns"])


def _locks(seen: Seen, names: Names) -> list[Report]:
    stacks: dict[int, list[Stack]] = defaultdict(list)
    found: dict[int, list[Cause]] = defaultdict(list)
    for stack in seen.stacks:
        stacks[stack.address].append(stack)
    for cause in seen.causes:
        found[cause.address].append(cause)
    futexes = [
        _futex(lock, stacks[lock.address], found[lock.address], names)
        for lock in seen.locks
        if lock.wait_ns
    ]
    spinning = [_spin(spin, seen, names) for spin in spins.find(seen, names)]
    by_wait = sorted(futexes + spinning + _yields(seen, names), key=lambda lock: -lock["wait_ns"])
    return sorted(_alike(by_wait), key=lambda lock: (not lock["is_lock"], -lock["wait_ns"]))


def _alike(locks: list[Report]) -> list[Report]:
    """Locks without names that are taken at the same call are one: the shards of a cache, say.

    So are all of which no call was seen: stacks are looked at only now and then.
    """
    found: dict[tuple[object, ...], Report] = {}
    for lock in locks:
        site = tuple(lock["site"].values())
        key = (lock["kind"], site, lock["name"])
        if key in found:
            _add(found[key], lock)
        else:
            found[key] = lock
    return list(found.values())


def _add(sums: Report, lock: Report) -> None:
    sums["locks"] += bool(lock["address"])  # of others nobody knows whether they are different ones
    for name in ("waits", "wait_ns", "ran_ns", "gave_up", "waiting"):
        sums[name] += lock[name]
    sums["longest_ns"] = max(sums["longest_ns"], lock["longest_ns"])
    for name in ("split", "wall"):
        sums[name] = dict(Counter(sums[name]) + Counter(lock[name]))
    sums["who"] = _merged(sums["who"] + lock["who"])
    stacks = sums["stacks"] + lock["stacks"]
    sums["stacks"] = sorted(stacks, key=lambda stack: (-stack["ns"], -stack["seen"]))[: 2 * STACKS]


def _merged(who: list[Report]) -> list[Report]:
    sums: Counter[tuple[object, ...]] = Counter()
    for one in who:
        sums[one["cause"], one["taker"], one["sibling"], one["call"]] += one["ns"]
    return [_one_who(key, ns) for key, ns in sums.most_common()]


def _one_who(key: tuple[object, ...], ns: int) -> Report:
    return dict(zip(("cause", "taker", "sibling", "call"), key, strict=True)) | {"ns": ns}


def _rest(locks: list[Report]) -> Report:
    return {
        "locks": len(locks),
        "waits": sum(lock["waits"] for lock in locks),
        "wait_ns": sum(lock["wait_ns"] for lock in locks),
    }


def _unknown(seen: Seen) -> list[str]:
    """What cannot be told, in words."""
    said = ["how often locks were taken without a wait: that needs `overlock run --counters`"]
    if seen.by == "looks":
        said[:0] = [
            "anything exact: BPF was refused, and the threads were looked at 50 times a second",
            "who took CPUs; who waits where in the code; spinning; locks other than glibc's mutex",
        ]
        return said
    if not seen.sampled_cpus:
        said.append("user-space spinning: the kernel refuses to sample by its clock")
    if seen.lost.get("records"):
        said.append(f"{seen.lost['records']} stacks and samples, lost for want of space")
    if seen.lost.get("locks"):
        said.append("what the waits for some locks were due to: there are too many locks")
    if seen.lost.get("threads"):
        said.append("what some threads did: there are too many")
    return said


def lock_names(seen: Seen, names: Names) -> dict[int, tuple[str, bool]]:
    """By address; and whether it is a lock."""
    stacks: dict[int, list[Stack]] = defaultdict(list)
    for stack in seen.stacks:
        stacks[stack.address].append(stack)
    found = (_futex(lock, stacks[lock.address], [], names) for lock in seen.locks)
    return {one["address"]: (show.lock_name(one), one["is_lock"]) for one in found}


def make(seen: Seen, names: Names, program: str, context: Report) -> Report:
    """`context`: what else is known of the machine and the program."""
    locks = _locks(seen, names)
    lost = sum(lock["wait_ns"] for lock in locks if lock["is_lock"]) + seen.others.get("wait_ns", 0)
    spun = sum(lock["ran_ns"] for lock in locks if lock["is_lock"])
    able = sum(seen.times.get(state, 0) for state in ABLE)
    report = {
        "format": FORMAT,
        "program": program,
        "pid": seen.pid,
        "ns": seen.ns,
        "cpus": seen.cpus,
        "threads": seen.threads_seen,
        "times": dict(seen.times),
        "wanted_ns": able + lost - spun,  # a thread that spins runs
        "lost_ns": lost,
        "spun_ns": spun,
        "locks": locks[:MOST],
        "rest": _rest(locks[MOST:]),
        "beyond": dict(seen.others),
        "kernel_locks": _kernel_locks(seen)[:MOST],
        "samples": seen.samples,
        "by": seen.by,
        "lost": dict(seen.lost),
        "unknown": _unknown(seen),
        **context,
    }
    return report | {"advice": advice.of(report)}
