# SPDX-License-Identifier: MIT
"""Stacks of waits or holds: named after the program's end, as a table, as JSON and folded.

The counted library writes, per stack, frames as [number of the object, offset in it], innermost
first, and what was seen of it: run/diag/stacks.c. Not every wait is looked at, so what a call's
waits lasted in all, which is counted, is shared out among its stacks as what was seen of them
lasted.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.core.system import symbols
from overlock_tools.core.system.symbols import Call

SUMS = ("waits", "wait_ns", "holds", "hold_ns")
WEIGHTS = ("wait", "hold")
NO_STACK = "[no stack]"  # of calls that no stack was taken at
CUT = "[deeper]"  # instead of the outermost frames of a stack that has more than are kept
INLINED = "_[i]"  # as flamegraph.pl marks what was inlined

Report = dict[str, Any]
Frame = tuple[int | None, int]  # number of the object, or None, and offset in it
Found = dict[str, dict[int, tuple[Call, ...]]]  # by path and offset


# Naming.


def named(report: Report) -> Report:
    """The same with the calls of every site and frame; equal frames and stacks become one."""
    raw = report.get("stacks")
    frames = _FrameTable(raw["modules"] if raw else [])
    stacks = _merged(raw["stacks"], frames) if raw else []
    wanted: dict[str, set[int]] = defaultdict(set)
    for module, offset in frames.numbers:
        if module is not None:
            wanted[frames.modules[module]].add(offset)
    for site in report["sites"]["sites"]:
        if "module" in site:
            wanted[site["module"]].add(site["offset"] - 1)
    found = {path: symbols.look_up(Path(path), offsets) for path, offsets in wanted.items()}
    for site in report["sites"]["sites"]:
        calls = found.get(site.get("module", ""), {}).get(site.get("offset", 0) - 1, ())
        site["calls"] = [call.to_json() for call in calls]
    if not raw:
        return report
    listed = [
        {
            "module": module,
            "offset": offset,
            "calls": [call.to_json() for call in frames.calls(found, module, offset)],
        }
        for module, offset in frames.numbers
    ]
    made = {"of": raw["of"], "modules": frames.modules, "frames": listed, "stacks": stacks}
    return report | {"stacks": made}


class _FrameTable:
    """Frames by number, and objects by path: one that was loaded twice is one."""

    def __init__(self, modules: list[str]) -> None:
        self.modules = list(dict.fromkeys(modules))
        self.module = [self.modules.index(path) for path in modules]
        self.numbers: dict[Frame, int] = {}

    def number(self, module: int | None, offset: int) -> int:
        frame = (None if module is None else self.module[module], offset)
        return self.numbers.setdefault(frame, len(self.numbers))

    def calls(self, found: Found, module: int | None, offset: int) -> tuple[Call, ...]:
        return () if module is None else found[self.modules[module]].get(offset, ())


def _merged(raw: list[Report], frames: _FrameTable) -> list[Report]:
    sums: dict[tuple[str, bool, tuple[int, ...]], dict[str, int]] = {}
    for stack in raw:
        numbers = tuple(frames.number(*frame) for frame in stack["frames"])
        key = (stack["site"], stack["cut"], numbers)
        sum_of = sums.setdefault(key, dict.fromkeys(SUMS, 0))
        for name in SUMS:
            sum_of[name] += stack[name]
    return [
        {"site": site, "cut": cut, **sum_of, "frames": list(numbers)}
        for (site, cut, numbers), sum_of in sums.items()
    ]


# Reading what named() made.


@dataclass(frozen=True)
class Stack:
    calls: tuple[Call, ...]  # innermost first
    cut: bool
    ns: int


@dataclass(frozen=True)
class Site:
    """A call that locks, under whatever locks."""

    calls: tuple[Call, ...]
    acquisitions: int
    waited: int
    ns: int  # of all its waits, or holds
    stacks: tuple[Stack, ...]  # the longest first; their times add up to `ns`


def shared_out(total: int, parts: list[int]) -> list[int]:
    """In proportion to the parts, as whole numbers that add up."""
    whole = sum(parts)
    if not whole:
        return [0] * len(parts)
    shares = [total * part // whole for part in parts]
    by_rest = sorted(range(len(parts)), key=lambda i: -(total * parts[i] % whole))
    for i in by_rest[: total - sum(shares)]:  # to the greatest remainders
        shares[i] += 1
    return shares


def _calls(listed: list[Report], fallback: str) -> tuple[Call, ...]:
    calls = tuple(Call(**call) for call in listed)
    if not calls:
        return (Call(fallback),)
    if calls[-1].function:
        return calls
    return (*calls[:-1], Call(fallback, calls[-1].file, calls[-1].line))


def _frame_calls(stacks: Report, number: int) -> tuple[Call, ...]:
    frame = stacks["frames"][number]
    if frame["module"] is None:
        return (Call(f"{frame['offset']:#x}"),)
    name = Path(stacks["modules"][frame["module"]]).name
    return _calls(frame["calls"], f"{name}+{frame['offset']:#x}")


def _site_calls(site: Report) -> tuple[Call, ...]:
    fallback = site.get("function")
    if not fallback and "module" in site:
        fallback = f"{Path(site['module']).name}+{site['offset']:#x}"
    return _calls(site.get("calls", []), fallback or site["site"])


def sites(report: Report) -> list[Site]:
    """Those with the longest waits, or holds, first; for each the stacks that were seen."""
    stacks = report["stacks"]
    of = f"{stacks['of']}_ns"
    seen: dict[str, list[Report]] = defaultdict(list)
    for stack in stacks["stacks"]:
        if stack[of]:
            seen[stack["site"]].append(stack)
    by_address: dict[str, list[Report]] = defaultdict(list)
    for site in report["sites"]["sites"]:
        by_address[site["site"]].append(site)
    found = [_site(same, seen[address], stacks, of) for address, same in by_address.items()]
    return sorted(found, key=lambda site: (-site.ns, -site.acquisitions))


def _site(same: list[Report], seen: list[Report], stacks: Report, of: str) -> Site:
    total = sum(site[of] for site in same)
    shares = shared_out(total, [stack[of] for stack in seen])
    made = [
        Stack(
            tuple(call for n in stack["frames"] for call in _frame_calls(stacks, n)),
            stack["cut"],
            ns,
        )
        for stack, ns in zip(seen, shares, strict=True)
    ]
    made.sort(key=lambda stack: -stack.ns)
    known = same[0].get("calls") or not made  # else its object is gone, but not that of its stacks
    return Site(
        _site_calls(same[0]) if known else made[0].calls[:1],
        sum(site["events"].get("ACQUIRE", 0) for site in same),
        sum(site["events"].get("SLOW_PATH", 0) for site in same),
        total,
        tuple(made),
    )


# Folded stacks.


def _folded_name(call: Call) -> str:
    name = (call.function or UNNAMED).replace(";", ":").replace("\n", " ")
    return name + INLINED if call.inlined else name


UNNAMED = "??"


def folded_line(calls: tuple[Call, ...], cut: bool = False) -> str:
    names = [_folded_name(call) for call in reversed(calls)]
    if "main" in names:  # what calls it is the same in every program
        names = names[names.index("main") :]
    return ";".join([CUT, *names] if cut else names)


def _line(stack: Stack) -> str:
    return folded_line(stack.calls, stack.cut)


def _lines(report: Report) -> Iterator[tuple[str, int]]:
    for site in sites(report):
        for stack in site.stacks:
            yield _line(stack), stack.ns
        if not site.stacks:
            yield _line(Stack((*site.calls, Call(NO_STACK)), False, site.ns)), site.ns


def folded(report: Report) -> str:
    """A line per stack, outermost first, and its ns: for flamegraph.pl, inferno and speedscope."""
    sums: dict[str, int] = defaultdict(int)
    for line, ns in _lines(report):
        sums[line] += ns
    return "".join(f"{line} {ns}\n" for line, ns in sorted(sums.items()) if ns)


# The table.

STACKS_SHOWN = 3  # of a call
LETTERS = 160  # of a line
OF_SYSTEM = ("/usr/include/", "/usr/lib/")  # files of what hides who calls, not of who does
STARTS = ("main", "start_thread")
# The parameters' end; behind it the compiler's remarks: " const", " (.part.0)", " [clone .cold]".
LAST_PARENTHESIS = re.compile(r"\)(?=(?: const| \(\.[^()]*\)| \[[^]]*\])*$)")


def without_parameters(name: str) -> str:
    """`Queue::push` of `Queue::push(int) const`; the parentheses of `operator()` are its name."""
    if not (found := LAST_PARENTHESIS.search(name)):
        return name
    depth = 0
    for i in range(found.start(), -1, -1):
        depth += (name[i] == ")") - (name[i] == "(")
        if not depth:
            return name[:i] if i and not name[:i].endswith("operator") else name
    return name


def _shown(call: Call) -> str:
    name = without_parameters(str(call.function))
    return f"{name} ({call.where})" if call.where else name


def _callers(stack: Stack, innermost: Call) -> list[Call]:
    """Who calls the call that is shown above, without what starts threads and wraps functions."""
    calls = list(stack.calls)
    if calls and calls[0] == innermost:
        del calls[0]
    starts = [i for i, call in enumerate(calls) if call.function in STARTS]
    if starts:
        calls = calls[: starts[0] + (calls[starts[0]].function == "main")]
    return [call for call in calls if not (call.file or "").startswith(OF_SYSTEM)]


def _stack_line(stack: Stack, site: Site) -> str:
    callers = [f"< {_shown(call)}" for call in _callers(stack, site.calls[0])]
    text = " ".join([f"{stack.ns / site.ns:>37.1%} ", *callers])
    return text if len(text) <= LETTERS else text[: LETTERS - 2] + " …"


def table(report: Report, program: str, top: int) -> str:
    """The calls with the longest waits or holds, and under each who called it."""
    found, of = [site for site in sites(report) if site.ns], report["stacks"]["of"]
    total = sum(site.ns for site in found)
    so_far = "" if report["ended"] else ", so far"
    lines = [
        f"overlock: {program} under {report['lock']}{so_far}",
        f"{of + ' ms':>12} {'share':>7} {'acquisitions':>14}  call site, and its callers",
    ]
    for site in found[:top]:
        numbers = f"{site.ns / 1e6:>12.3f} {site.ns / total:>7.1%} {site.acquisitions:>14}"
        lines.append(f"{numbers}  {_shown(site.calls[0])}")
        lines += [_stack_line(stack, site) for stack in site.stacks[:STACKS_SHOWN]]
    if found[top:]:
        rest = sum(site.ns for site in found[top:])
        lines.append(f"{rest / 1e6:>12.3f} at {len(found) - top} other calls")
    return "\n".join(lines) + "\n"
