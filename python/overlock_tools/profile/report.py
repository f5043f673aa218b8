# SPDX-License-Identifier: MIT
"""What was seen, as the document that `--json` writes and that all else is made from."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from overlock_tools.core.system.reading import Count
from overlock_tools.core.system.symbols import Call
from overlock_tools.profile import (
    advice,
    causes,
    doubts,
    functions,
    kinds,
    placing,
    show,
    spins,
)
from overlock_tools.profile.kinds import Kind
from overlock_tools.profile.naming import Kernel, Names
from overlock_tools.profile.seen import HOLDER, Cause, KernelLock, Lock, Onward, Seen, Stack

FORMAT = "overlock profile 1"
MOST = 100  # locks that are listed, those with the longest waits
STACKS = 10  # of each lock
MOST_BYTES = 1 << 31  # of an object: what is farther away from its code is none of its variables
MOSTLY = 0.75
HELD_UP = "holder_lock"  # a cause: the holder waits at a futex
# Of the kernel: what waits for any lock.
WAITS_IN_KERNEL = (
    "trace", "bpf", "__bpf", "queued_", "native_", "_raw_", "__mutex", "mutex_", "down_", "rwsem_",
    "__down", "percpu_", "rt_mutex", "__rt_mutex", "up_", "rwbase", "__pv_", "pv_",
)  # fmt: skip

Report = dict[str, Any]


def _stacks(found: list[Stack], names: Names) -> list[Report]:
    weight = "ns" if any(stack.ns for stack in found) else "seen"
    found = sorted(found, key=lambda stack: -getattr(stack, weight))[:STACKS]
    return [
        {
            "of": stack.of,
            "state": stack.state,
            "seen": stack.seen,
            "ns": stack.ns,
            "calls": [step.call.to_json() for step in placing.steps(stack, names)],
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


def _longest(stacks: list[Stack]) -> Stack | None:
    waiters = (stack for stack in stacks if stack.of == "waiter")
    return max(waiters, key=lambda stack: stack.ns, default=None)


@dataclass(frozen=True)
class _Told:
    """What is told of a futex beside numbers."""

    kind: Kind
    site: Call
    variable: str
    waiters: list[Stack]
    holders: list[Stack]


def _variable(lock: Lock, names: Names) -> str:
    """None of a library: several locks may share one."""
    name = names.variable((lock.module, lock.offset))
    return "" if kinds.OWN.fullmatch(functions.qualified(name)) else name


def _told(seen: Seen, names: Names) -> dict[int, _Told]:
    by_lock: dict[int, list[Stack]] = defaultdict(list)
    for stack in seen.stacks:
        by_lock[stack.address].append(stack)
    longest: dict[int, Stack | None] = {
        lock.address: _longest(by_lock[lock.address]) for lock in seen.locks
    }
    steps = {address: placing.steps(s, names) if s else () for address, s in longest.items()}
    sites = placing.sites(steps)
    found: dict[int, _Told] = {}
    for lock in seen.locks:
        stacks, variable = by_lock[lock.address], _variable(lock, names)
        found[lock.address] = _Told(
            kinds.of(lock, steps[lock.address], variable),
            sites[lock.address],
            variable,
            sorted((s for s in stacks if s.of == "waiter"), key=lambda stack: -stack.ns),
            [s for s in stacks if s.of == HOLDER],
        )
    return found


def _futex(lock: Lock, told: _Told, found: list[Cause], names: Names) -> Report:
    kind = told.kind
    return {
        "name": kind.name if kind.single else "" if kind.of_thread else told.variable,
        "locks": 1,
        "ran_ns": 0,
        "site": told.site.to_json(),
        "address": 0 if kind.of_thread else lock.address,
        "kind": kind.name,
        "kind_by": "",
        "is_lock": kind.is_lock,
        "spins": kind.spins,
        "is_known": kind.use != kinds.Use.UNKNOWN,
        "holder_by": "the mutex" if lock.owners else "its wake-ups",
        "waits": lock.waits,
        "wait_ns": lock.wait_ns,
        "longest_ns": lock.longest_ns,
        "gave_up": lock.gave_up,
        "waiting": lock.waiting,
        "split": causes.split(lock.waited),
        "wall": causes.split(lock.wall),
        "who": _who(found),
        "stacks": _stacks(told.waiters, names) + _stacks(told.holders, names),
        "loops": [],
    }


def _split_off(row: Report, ns: int, is_known: bool) -> Report:
    """The waits in which the holder itself waited, for what is no lock, or may be none."""
    wall = row["wall"].get(HELD_UP, 0) * ns // row["split"][HELD_UP]
    for name, part in (("split", ns), ("wall", wall)):
        row[name] = {cause: n for cause, n in row[name].items() if cause != HELD_UP} | {
            HELD_UP: row[name].get(HELD_UP, 0) - part
        }
        row[name] = {cause: n for cause, n in row[name].items() if n}
    row["wait_ns"] -= ns
    how = "on purpose" if is_known else "at a futex of unknown kind"
    return row | {
        "kind": f"{row['kind']} whose holder waits {how}",
        "is_lock": False,
        "is_known": is_known,
        "wait_ns": ns,
        "split": {HELD_UP: ns},
        "wall": {HELD_UP: wall} if wall else {},
    }


def _on_purpose(row: Report) -> Report:
    """All of it: hand-overs, too, belong to what is waited for then, say a queue."""
    return row | {"kind": f"{row['kind']} whose holder waits on purpose", "is_lock": False}


def _scaled(parts: dict[str, int], part: int, whole: int) -> dict[str, int]:
    return {name: ns * part // whole for name, ns in parts.items()}


def _split_onward(row: Report, ns: int) -> Report:
    """The waits without which their threads would have waited for work meanwhile."""
    whole = row["wait_ns"]
    off = {name: _scaled(row[name], ns, whole) for name in ("split", "wall")}
    for name in off:
        row[name] = _scaled(row[name], whole - ns, whole)
    row["wait_ns"] -= ns
    kind = f"{row['kind']} on the way to a wait for work"
    return row | {"kind": kind, "is_lock": False, "wait_ns": ns, **off}


def _rows(
    lock: Lock,
    told: dict[int, _Told],
    found: list[Cause],
    onwards: list[Onward],
    names: Names,
) -> Iterator[Report]:
    """One; or more, where its holder waits for what is no lock, or its waiters do next."""
    row = _futex(lock, told[lock.address], found, names)
    at_futexes = [one for one in found if one.at in told] if row["is_lock"] else []
    for use in (kinds.Use.PURPOSE, kinds.Use.UNKNOWN):
        ns = sum(one.ns for one in at_futexes if told[one.at].kind.use == use)
        if use == kinds.Use.PURPOSE and ns >= MOSTLY * row["wait_ns"]:
            yield _on_purpose(row)
            return
        if ns := min(ns, row["split"].get(HELD_UP, 0)):
            yield _split_off(row, ns, use == kinds.Use.PURPOSE)
    to_work = (
        one.ns for one in onwards if one.to in told and told[one.to].kind.name in kinds.FOR_WORK
    )
    if row["is_lock"] and (ns := min(sum(to_work), row["wait_ns"])):
        yield _split_onward(row, ns)
    if row["wait_ns"] > 0:
        yield row


def _spin(spin: spins.Spin, seen: Seen, names: Names) -> Report:
    frame = spin.frames.most_common(1)[0][0]
    ns = round(spin.samples * 1e9 / seen.hertz)
    total = sum(spin.by_cause.values())
    split = {name: ns * n // total for name, n in spin.by_cause.items()}
    return _spinning(placing.site(placing.of_frame(frame, names)), spin.kind) | {
        "name": names.variable(spin.variable).partition("+0x")[0],  # the words of one are alike
        "address": spin.address,
        "kind_by": spin.kind_by,
        "wait_ns": ns,
        "ran_ns": ns,
        "split": split,
        "loops": [loop.to_json() for loop, _ in spin.loops.most_common()],
    }


def _yields(seen: Seen, told: dict[int, _Told], names: Names) -> list[Report]:
    """By where in the program: the time of those that yield, and what they run meanwhile.

    Of what threads gave away right before they waited on purpose, the purpose is known; if that is
    most of it, so it is of the rest, whose threads found what they wait for before they slept.
    """
    stacks = [stack for stack in seen.stacks if stack.of == "yielder"]
    waiters = [(stack, one.kind, one.site) for one in told.values() for stack in one.waiters]
    ran = round(seen.samples_yield * 1e9 / seen.hertz)
    total = sum(stack.seen for stack in stacks)
    all_ns = sum(stack.ns for stack in stacks)
    gave = seen.times.get("yielding", 0)
    on_purpose = sum(
        one.ns
        for one in seen.onwards
        if not one.address and one.to in told and told[one.to].kind.use == kinds.Use.PURPOSE
    )
    unclear = gave - on_purpose if on_purpose < MOSTLY * gave else 0
    unseen = max(0, min(unclear, gave - all_ns))  # by threads that no sample met in a yield
    found = [
        _yield(
            stack,
            names,
            placing.of_same_call(stack, waiters, names),
            min(stack.ns, gave * stack.ns // max(1, all_ns)) + ran * stack.seen // total,
            ran * stack.seen // total,
        )
        for stack in stacks
    ]
    found = [row if row["is_known"] else _at_most(row, unclear) for row in found]
    if unseen:
        row = _spinning(Call(None), kinds.UNSEEN_YIELDS)
        found.append(row | {"holder_by": "nothing", "wait_ns": unseen, "split": {"yields": unseen}})
    return found


def _at_most(row: Report, ns: int) -> Report:
    """Of what was given away; what the calls took themselves is known."""
    ns = min(row["wait_ns"], row["ran_ns"] + ns)
    return row | {"wait_ns": ns, "split": dict.fromkeys(row["split"], ns)}


def _yield(
    stack: Stack, names: Names, same: tuple[Kind, Call] | None, ns: int, ran_ns: int
) -> Report:
    steps = placing.steps(stack, names)
    kind = kinds.of_yields(steps, same[0] if same else None)
    return _spinning(same[1] if same else placing.site(steps), kind) | {
        "holder_by": "nothing",
        "wait_ns": ns,
        "ran_ns": ran_ns,
        "split": {kind.by_yields: ns},
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
        "kind_by": "",
        "is_lock": kind.is_lock,
        "spins": kind.spins,
        "is_known": kind.use != kinds.Use.UNKNOWN,
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
        "loops": [],
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


def _joins(seen: Seen) -> set[int]:
    """Where one thread waited once, and the kernel woke it: no call did, and no time ran out.

    Looks at /proc see no calls; there the sampler knows joins by the word, a thread's number.
    """
    threads = {thread.thread for thread in seen.threads}
    return {
        lock.address
        for lock in seen.locks
        if seen.by == "bpf"
        and lock.waits <= 1
        and not (lock.wakes or lock.gave_up)
        and (not lock.waiting or lock.value in threads)
    }


def _locks(seen: Seen, names: Names) -> list[Report]:
    """Locks first, then what may be one; the longest waits first."""
    found: dict[int, list[Cause]] = defaultdict(list)
    for cause in seen.causes:
        found[cause.address].append(cause)
    onwards: dict[int, list[Onward]] = defaultdict(list)
    for onward in seen.onwards:
        onwards[onward.address].append(onward)
    told = _told(seen, names)
    futexes = [
        row
        for lock in seen.locks
        if lock.wait_ns
        for row in _rows(lock, told, found[lock.address], onwards[lock.address], names)
    ]
    joins = _joins(seen)
    for one in futexes:
        if one["kind"] == kinds.OTHER.name and one["address"] in joins:
            one |= {"kind": kinds.JOIN.name, "is_known": True}
    spun = spins.find(seen, names)
    names.learn_variables(spin.variable for spin in spun if 0 < spin.variable[1] < MOST_BYTES)
    spinning = [_spin(spin, seen, names) for spin in spun]
    yields = _yields(seen, told, names)
    by_wait = sorted(futexes + spinning + yields, key=lambda lock: -lock["wait_ns"])
    return sorted(
        _alike(by_wait),
        key=lambda lock: (not advice.counts(lock), lock["is_known"], -lock["wait_ns"]),
    )


def _alike(locks: list[Report]) -> list[Report]:
    """Locks without names that are taken at the same call are one: the shards of a cache, say.

    So are all of which no call was seen: stacks are looked at only now and then.
    """
    found: dict[tuple[object, ...], Report] = {}
    for lock in locks:
        site = tuple(lock["site"].values())
        single = lock["kind"] in kinds.SINGLE
        key = (lock["kind"], () if single else site, lock["name"], lock["is_known"])
        if key in found:
            _add(found[key], lock)
        else:
            found[key] = lock
    return list(found.values())


def _add(sums: Report, lock: Report) -> None:
    if lock["kind"] not in kinds.SINGLE:
        sums["locks"] += bool(lock["address"])  # of others nobody knows whether they are others
    for name in ("waits", "wait_ns", "ran_ns", "gave_up", "waiting"):
        sums[name] += lock[name]
    sums["longest_ns"] = max(sums["longest_ns"], lock["longest_ns"])
    for name in ("split", "wall"):
        sums[name] = dict(Counter(sums[name]) + Counter(lock[name]))
    sums["loops"] += [loop for loop in lock["loops"] if loop not in sums["loops"]]
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


def _unknown(seen: Seen, names: Names) -> list[str]:
    """What cannot be told, in words."""
    said = ["how often locks were taken without a wait: that needs `overlock run --counters`"]
    if seen.by == "looks":
        said[:0] = [
            f"anything exact: {seen.why}, and the threads were looked at {seen.looks} times",
            "who took CPUs; who waits where in the code; locks other than glibc's mutex",
        ]
        return said
    said += [f"names in {path}: that file was removed or replaced" for path in names.unread]
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
    told = _told(seen, names)
    found = ((lock.address, _futex(lock, told[lock.address], [], names)) for lock in seen.locks)
    return {address: (show.lock_name(one), one["is_lock"]) for address, one in found}


def make(seen: Seen, names: Names, program: str, context: Report) -> Report:
    """`context`: what else is known of the machine and the program."""
    locks = _locks(seen, names)
    lost = sum(map(advice.lost, locks)) + seen.others.get("wait_ns", 0)
    ran = sum(min(lock["ran_ns"], advice.lost(lock)) for lock in locks)
    wanted = sum(seen.times.get(state, 0) for state in causes.ABLE) + lost - ran  # who spins runs
    report = {
        "format": FORMAT,
        "program": program,
        "pid": seen.pid,
        "ns": seen.ns,
        "cpus": seen.cpus,
        "threads": seen.threads_seen,
        "children": seen.children,
        "times": dict(seen.times),
        "wanted_ns": wanted,
        "lost_ns": lost,
        "unsure_ns": sum(lock["wait_ns"] for lock in locks if not lock["is_known"]),
        "spun_ns": sum(lock["ran_ns"] for lock in locks if advice.counts(lock)),
        "burnt_ns": ran,
        "locks": locks[:MOST],
        "rest": _rest(locks[MOST:]),
        "beyond": dict(seen.others),
        "kernel_locks": _kernel_locks(seen)[:MOST],
        "samples": seen.looks or seen.samples,
        "by": seen.by,
        "lost": dict(seen.lost),
        "doubts": doubts.of(seen, locks, names, wanted),
        "unknown": _unknown(seen, names),
        **context,
    }
    return report | {"advice": advice.of(report)}
