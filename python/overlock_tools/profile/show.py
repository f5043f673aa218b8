# SPDX-License-Identifier: MIT
"""The report for people: one to three sentences, then tables; and folded stacks."""

from collections import defaultdict
from typing import Any

from overlock_tools.core.system.symbols import Call
from overlock_tools.profile import advice, causes, functions
from overlock_tools.run import stacks

Report = dict[str, Any]

ROWS = 8
SIGHT = 0.1  # of what is told, a part that is worth a word


def _call(raw: Report) -> Call:
    return Call(**raw)


def place(call: Call) -> str:
    name = functions.readable(call.function or "?")
    return f"{name} ({call.where})" if call.where else name


def lock_name(lock: Report) -> str:
    """`cache_lock`, else who takes it."""
    if lock["name"]:
        return str(lock["name"]) if not lock.get("spins") else f"{lock['kind']} at {lock['name']}"
    if lock["site"]["function"]:
        spins = lock.get("spins")
        many = f"{lock['locks']} locks" if lock["locks"] > 1 and not spins else lock["kind"]
        taken = "" if spins else " taken"
        return f"{many}{taken} in {place(_call(lock['site']))}"
    if lock["locks"] > 1:
        return f"{lock['locks']} locks, of unknown calls"
    return f"{lock['kind']} at {lock['address']:#x}"


def _lock_words(lock: Report) -> str:
    site = _call(lock["site"])
    where = f" ({place(site)})" if lock["name"] and site.function else ""
    return f"`{lock_name(lock)}`{where}"


def _whose(lock: Report, cause: str) -> str:
    """Who took the CPU, or what it slept in: the greatest part."""
    found = advice.takers(lock, cause)
    total = sum(who["ns"] for who in found)
    if not total:
        return ""
    by_name: dict[str, int] = defaultdict(int)
    for who in found:
        by_name[taker(who)] += who["ns"]
    name, ns = max(by_name.items(), key=lambda item: item[1])
    return f", {'mostly ' if ns < 0.9 * total else ''}{name}" if name else ""


def taker(who: Report) -> str:
    if who["call"]:
        return f"in {who['call']}()"
    if not who["taker"]:
        return ""
    if who["taker"].startswith("swapper/"):
        return ""
    of = "of the same program" if who["sibling"] else "of another program"
    return f"taken by `{who['taker']}` {of}"


def gain(one: Report) -> str:
    if one["predicted"] is None:
        return ""
    if not advice.is_worth(one):
        return " (no faster, by the model: it uses all CPU time that it gets)"
    if one["predicted"] >= advice.MOST:
        return f" (predicted: {advice.MOST:g}× or more)"
    return f" (predicted: {'up to ' if one['upper_bound'] else ''}{one['predicted']:.1f}×)"


def share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}".replace("%", " %") if whole else "0 %"


def _ran(report: Report) -> str:
    """How much of a program was not watched."""
    ns = report.get("children_ns", 0)
    return f", with {ns / 1e9:.1f} s of CPU time or more" if ns else ""


def _unwatched(report: Report) -> list[str]:
    """Runtimes with locks of their own, and other processes."""
    runtimes = report.get("unwatched", ())
    said = [f"Not watched: {' and '.join(runtimes)}."] if runtimes else []
    if n := report["children"]:
        what = f"{n} processes" if n > 1 else "a process"
        said.append(
            f"Not watched: {what} that {report['program']} started{_ran(report)}; give --pid or "
            "the command of one to see it."
        )
    return said


def _no_lock(report: Report) -> list[str]:
    """An all-clear only where all that was seen could be judged."""
    lost = share(report["lost_ns"], report["wanted_ns"])
    doubts, itself = report["doubts"], " itself" if report["children"] else ""
    if report.get("unwatched") and not doubts:
        return [
            f"{report['program']}{itself} spent {lost} of its active time waiting for what is "
            "known to be a lock."
        ]
    if doubts:
        return [
            f"Cannot tell whether {report['program']}{itself} has lock trouble: "
            f"{'; '.join(doubts)}. It spent {lost} of its active time waiting for what is known "
            "to be a lock."
        ]
    return [
        f"No lock trouble found: {report['program']}{itself} spent {lost} of its active time "
        "waiting for locks."
    ]


def sentences(report: Report) -> list[str]:
    lost = share(report["lost_ns"], report["wanted_ns"])
    lock = advice.main_lock(report)
    if not lock:
        said = _no_lock(report) + _harmless(report) + _stopped(report)
        return _unwatched(report) + said + _try(report["advice"])
    if lock["spins"]:
        return _unwatched(report) + _spinning(report, lock)
    cause, ns = advice.main_cause(lock)
    of_lock = share(lock["wait_ns"], report["lost_ns"])
    most = "all" if of_lock == "100 %" else of_lock
    first = (
        f"{report['program']} spent {lost} of its active time waiting for locks, {most} of it for "
        f"{_lock_words(lock)}{_spun(report)}."
    )
    if advice.costs_no_throughput(report):
        first = (
            "No throughput is lost to locks, by the model: when one thread waits, others work, "
            f"with all the CPU time that the program gets. {first}"
        )
    how = "probably " if lock["holder_by"] == "a guess" else ""
    second = (
        f"In {share(ns, sum(lock['split'].values()))} of that time {how}"
        f"{causes.BY_NAME[cause].because}{_whose(lock, cause)}. "
        f"{_active(report)}"
    )
    doubts = [f"Not judged: {'; '.join(report['doubts'])}."] if report["doubts"] else []
    return [
        *_unwatched(report),
        first,
        second,
        *_stopped(report),
        *_try(report["advice"]),
        *doubts,
    ]


def _spinning(report: Report, lock: Report) -> list[str]:
    """Threads that spin on no lock, while others of the program lack CPUs."""
    ran, (cause, ns) = report["times"].get("running", 0), advice.main_cause(lock)
    of_all = share(lock["ran_ns"], report["spun_ns"])
    at = f"{'all' if of_all == '100 %' else of_all} of it at {_lock_words(lock)}"
    by = f", as told by {lock['kind_by']}" if lock["kind_by"] else ""
    doubts = [f"Not judged: {'; '.join(report['doubts'])}."] if report["doubts"] else []
    return [
        f"{share(min(report['spun_ns'], ran), ran)} of the CPU time that {report['program']} got "
        f"went into spinning, {at}{by}.",
        f"In {share(ns, sum(lock['split'].values()))} of that time "
        f"{causes.BY_NAME[cause].because}. {_active(report)}",
        *_fewer_cpus(report),
        *_stopped(report),
        *_try(report["advice"]),
        *doubts,
    ]


def _stopped(report: Report) -> list[str]:
    """By the quota of its group."""
    if not causes.is_short_of_quota(report["times"]):
        return []
    stopped = share(report["times"].get("throttled", 0), report["wanted_ns"])
    quota = report.get("quota")
    of = f" of {cpus(quota)}" if quota else ""
    return [f"Its CPU quota{of} stopped its threads for {stopped} of its active time."]


def _active(report: Report) -> str:
    """By the mean, over the time that was watched."""
    return (
        f"{advice.wanting(report):.1f} threads were active, on {cpus(advice.usable_cpus(report))}."
    )


def cpus(n: float) -> str:
    return f"{n:g} CPU{'' if n == 1 else 's'}"


def _fewer_cpus(report: Report) -> list[str]:
    """Runtimes count CPUs once, at their start."""
    first, now = report.get("allowed_first", 0), report.get("allowed") or 0
    if not 0 < now < first:
        return []
    return [
        f"It had {first} CPUs at first, and its threads have {now} now: a runtime that counted "
        "them at its start spins as if each had one."
    ]


def _harmless(report: Report) -> list[str]:
    """Spinning that cost nobody a CPU."""
    ran = report["times"].get("running", 0)
    spins = [lock for lock in report["locks"] if lock["spins"]]
    if report["spun_ns"] - report["burnt_ns"] <= advice.LEAST * ran or not spins:
        return []
    most = max(spins, key=lambda lock: int(lock["ran_ns"]))
    return [
        f"{share(min(report['spun_ns'], ran), ran)} of its CPU time went into spinning, most at "
        f"{_lock_words(most)}, hardly ever while a thread of it lacked a CPU."
    ]


def _spun(report: Report) -> str:
    """A thread that spins and has no CPU counts as one that has work."""
    spun, ran = report["spun_ns"], report["times"].get("running", 0)
    if spun <= advice.LEAST * ran:
        return ""
    return f"; {share(min(spun, ran), ran)} of the CPU time that it got went into spinning"


def _try(found: list[Report]) -> list[str]:
    if not found or not advice.is_worth(found[0]):
        return []
    return [f"Try: {found[0]['do']}{gain(found[0])}."]


def ms(ns: int) -> str:
    return f"{ns / 1e6:.1f}"


def split_words(lock: Report) -> str:
    total = sum(lock["split"].values())
    parts = sorted(lock["split"].items(), key=lambda item: -item[1])
    words = [
        f"{column(name)} {share(ns, total)}" for name, ns in parts if total and ns >= 0.01 * total
    ]
    return ", ".join(words)


def column(name: str) -> str:
    cause = causes.BY_NAME[name]
    return f"holder {cause.column}" if name.startswith("holder") else cause.column


def _row(lock: Report, lost: int) -> list[str]:
    waits = str(lock["waits"]) if lock["waits"] else "-"
    head = f"{ms(lock['wait_ns']):>11} {share(advice.lost(lock), lost):>7} {waits:>9}  "
    lines = [head + f"{lock_name(lock)}, {lock['kind']}"]
    if lock["split"]:
        lines.append(" " * 31 + split_words(lock))
    return lines + [" " * 31 + words for words in loops_words(lock)]


def loops_words(lock: Report) -> list[str]:
    """By the names that `overlock run --spins` has for them."""
    return [f"loop {loop['name']}, {loop['kind']}" for loop in lock["loops"]]


def table(report: Report, top: int = ROWS) -> str:
    locks = [lock for lock in report["locks"] if advice.counts(lock)]
    if not locks:
        return ""
    lines = [f"{'wait ms':>11} {'share':>7} {'waits':>9}  lock, and what its holder was doing"]
    for lock in locks[:top]:
        lines += _row(lock, report["lost_ns"])
    rest = locks[top:]
    ns = sum(lock["wait_ns"] for lock in rest) + report["beyond"].get("wait_ns", 0)
    if rest or ns:
        lines.append(f"{ms(ns):>11} {share(ns, report['lost_ns']):>7}            all others")
    return "\n".join(lines)


def _kernel(report: Report) -> str:
    found = [
        lock for lock in report["kernel_locks"] if lock["wait_ns"] >= 0.005 * report["wanted_ns"]
    ]
    lines = [
        f"{ms(lock['wait_ns']):>11} {'':>7} {lock['waits']:>9}  "
        f"a lock of the kernel, in {lock['function']}"
        for lock in found[:3]
    ]
    return "\n".join(lines)


def times(report: Report) -> str:
    whole = max(1, report["ns"])
    ran, ready, stopped = (
        report["times"].get(state, 0) / whole for state in ("running", "preempted", "throttled")
    )
    by_quota = f"{stopped:.2f} were stopped by the CPU quota, " if stopped >= 0.005 else ""
    return (
        f"{report['ns'] / 1e9:.2f} s, {report['threads']} threads: on average {ran:.2f} ran, "
        f"{ready:.2f} were able to run and had no CPU, {by_quota}"
        f"{report['lost_ns'] / whole:.2f} waited for locks."
    )


def _process(report: Report) -> list[str]:
    ran = report["times"].get("running", 0)
    lock = advice.main_lock(report)
    return [
        f"{report['pid']:>8} {ran / 1e9:>7.2f} {share(min(report['spun_ns'], ran), ran):>8} "
        f"{share(report['lost_ns'], report['wanted_ns']):>6}  {report['program']}"
        + (f": {lock_name(lock)}" if lock else "")
    ]


def _processes(report: Report, main: Report) -> list[str]:
    heads = (f"{'process':>8}", f"{'CPU s':>7}", f"{'spinning':>8}", f"{'lost':>6}")
    lines = [f"{' '.join(heads)}  program, and what costs it the most"]
    for one in (report, *report["processes"]):
        lines += _process(one)
    if n := report["children"]:
        more = "processes were" if n > 1 else "process was"
        why = _ran(report) or ": too short"
        lines.append(f"{n:>8} more {more} not watched{why}")
    why = "lost the most" if _has_lost(main) else "ran the most"
    return [*lines, "", f"{main['program']}, process {main['pid']}, which {why}:"]


def _has_lost(report: Report) -> bool:
    return bool(report["lost_ns"] > advice.LEAST * report["wanted_ns"])


def main_process(report: Report) -> Report:
    """The one that lost the most; where none has lost much, the one that ran the most."""

    def order(one: Report) -> tuple[int, int]:
        return one["lost_ns"] if _has_lost(one) else 0, one["times"].get("running", 0)

    found: Report = max((report, *report.get("processes", ())), key=order)
    return found


def whole(report: Report, top: int = ROWS) -> str:
    if report.get("processes"):
        main = main_process(report)
        alone = main | {"processes": [], "children": 0, "children_ns": 0}
        return "\n".join(_processes(report, main)) + "\n" + whole(alone, top)
    parts = [" ".join(sentences(report)), "", times(report)]
    for part in (table(report, top), _kernel(report)):
        if part:
            parts += [part]
    skipped = 1 if report["advice"] and advice.is_worth(report["advice"][0]) else 0
    others = [f"  {one['do']}{gain(one)}" for one in report["advice"][skipped:]]
    if others:
        parts += ["Also:", *others]
    parts += ["Not known: " + "; ".join(report["unknown"]) + "."]
    return "\n".join(parts) + "\n"


def folded(report: Report) -> str:
    """Of waiters, by flamegraph.pl's rules: outermost first, and ns, the lock as the innermost."""
    sums: dict[str, int] = defaultdict(int)
    for lock in report["locks"]:
        if not lock["is_lock"]:
            continue
        found = [stack for stack in lock["stacks"] if stack["of"] == "waiter"]
        shares = stacks.shared_out(lock["wait_ns"], [stack["ns"] for stack in found])
        for stack, ns in zip(found, shares, strict=True):
            sums[_folded_line(stack, lock)] += ns
        if not found:
            sums[stacks.folded_line((Call(lock_name(lock)), _call(lock["site"])))] += lock[
                "wait_ns"
            ]
    return "".join(f"{line} {ns}\n" for line, ns in sorted(sums.items()) if ns)


def _folded_line(stack: Report, lock: Report) -> str:
    return stacks.folded_line((Call(lock_name(lock)), *map(_call, stack["calls"])))
