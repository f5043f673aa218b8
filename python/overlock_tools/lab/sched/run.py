# SPDX-License-Identifier: MIT
"""Locks in user space under `overlock sched` and under the kernel's own scheduler, in one guest."""

import json
import random
import shlex
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.bench import subjects
from overlock_tools.core.model import defs, stats
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import FAILED, Fail
from overlock_tools.core.system.terminal import console as terminal
from overlock_tools.guest import placement, vm
from overlock_tools.guest.channel import Ended, Late
from overlock_tools.lab.sched import build, programs

KERNEL = "kernel"
BOOT_SECONDS = 300.0
# A counted second takes some ten of the host's, more if the host is busy.
SLOWER = 100.0
START_SECONDS = 60.0
GUEST_SECONDS = 1200.0  # till a guest of the guest's own is up
LOCKS = " ".join(f"--lock-so {name}=/usr/lib/{name}.so" for name in build.LOCKS)
REQUESTS = "/tmp/requests"  # noqa: S108 - in the guest
EXTENSION = "/sys/kernel/debug/rseq/slice_ext_nsec"


@dataclass
class Row:
    """A lock with so many threads under a scheduler, in all rounds."""

    rates: list[float] = field(default_factory=list)
    p99_us: list[float] = field(default_factory=list)
    longest_us: list[float] = field(default_factory=list)  # wait of a thread
    jain: list[float] = field(default_factory=list)
    # If counted: acquisitions, and in how many the holder was preempted, or the waiter.
    acquired: list[int] = field(default_factory=list)
    lhp: list[int] = field(default_factory=list)
    lwp: list[int] = field(default_factory=list)
    work: list[list[int]] = field(default_factory=list)  # of each thread
    seconds: list[float] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)  # by overlock-hostd, to a guest

    def take(self, done: int, cell: Mapping[str, Any], p99_us: float, longest_us: float) -> None:
        self.work.append(cell["per_thread"])
        self.seconds.append(cell["seconds"])
        self.rates.append(done / cell["seconds"])
        self.jain.append(stats.jain(cell["per_thread"]))
        self.p99_us.append(p99_us)
        self.longest_us.append(longest_us)


def p99_ns(latency: Mapping[str, Sequence[float]]) -> float:
    """Of samples that weigh differently."""
    waits = sorted(zip(latency["ns"], latency["weight"], strict=True))
    most, seen = 0.99 * sum(weight for _, weight in waits), 0.0
    for ns, weight in waits:
        seen += weight
        if seen >= most:
            return ns
    return 0.0


def _kernel(rig: build.Rig, options: Mapping[str, Any]) -> build.Kernel:
    version, variant = options.get("version"), options.get("variant")
    if not variant:
        return build.debian_kernel(rig, version or build.USUAL, _tell)
    if not version:
        raise Fail("--variant is of a kernel that --kernel names; give both")
    return build.own_kernel(options["folder"], version, variant)


def _tell(what: str) -> None:
    terminal().print(what)


def _spec(options: dict[str, Any]) -> vm.Spec:
    """And leaves out of --under what that kernel cannot have."""
    rig = build.made(options["folder"], _tell)
    kernel = _kernel(rig, options)
    if under := options.get("under"):
        options["under"] = _possible(under, kernel)
    asked_for = options.get("programs", ())
    packed = build.packed(rig, kernel, asked_for, _tell)
    has_guest = programs.GUEST in map(programs.name_of, asked_for)
    return build.ScxSpec(
        kernel=kernel.image,
        initramfs=packed,
        smp=options["smp"],
        memory_mb=build.WITH_GUEST_MB if has_guest else build.MEMORY_MB,
        qemu=str(rig.qemu),
        turn_us=options.get("turn_us", build.TURN_US),
    )


@contextmanager
def guest(options: dict[str, Any]) -> Iterator[vm.Told]:
    with vm.booted([_spec(options)], placement.chosen("free", ()), BOOT_SECONDS) as up:
        yield up.guests[0]


def asked(told: vm.Told, line: str, seconds: float) -> list[str]:
    try:
        said, code = told.asked(line, seconds)
    except (Late, Ended) as error:
        raise Fail(f"the guest did not answer to `{line}`: {error}", FAILED) from error
    if code:
        words = [each for each in said if not each.startswith("{")]  # not what a scheduler counted
        why = " ".join(words[-2:]) or f"exit code {code}"
        raise Fail(f"`{line}` failed in the guest: {why}", FAILED)
    return said


def requests(options: dict[str, Any]) -> list[str]:
    words = [f"workload={options['workload']}"]
    rest = [f"seconds={options['seconds']}", *options["parameters"]]
    return [
        " ".join([*words, f"variant={lock}", f"threads={threads}", *rest])
        for lock in options["locks"]
        for threads in options["threads"]
    ]


def _measure(told: vm.Told, under: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    """What the bench and the scheduler said, an object each."""
    lines = requests(options)
    asked(told, f"printf '%s\\n' {shlex.join(lines)} >{REQUESTS}", START_SECONDS)
    bench = "overlock-bench-counted" if options["counted"] else "overlock-bench"
    line = f"{bench} {LOCKS} <{REQUESTS}"
    command = f"under {shlex.quote(under)} sh -c {shlex.quote(line)}"
    seconds = START_SECONDS + SLOWER * len(lines) * (options["seconds"] + 0.2)
    said = asked(told, command, seconds)
    return [json.loads(line) for line in said if line.startswith("{")]


def _measure_programs(told: vm.Told, under: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    """The same of each program, in the cell of a bench."""
    cells = []
    for given in options["programs"]:
        for threads in options["threads"]:
            line = programs.command(given, threads, options["seconds"])
            boots = programs.name_of(given) == programs.GUEST
            start = GUEST_SECONDS if boots else START_SECONDS
            seconds = start + SLOWER * (options["seconds"] + 1)
            said = asked(told, f"under {shlex.quote(under)} {line}", seconds)
            answers = [json.loads(line) for line in said if line.startswith("{")]
            cells += [a | {"program": given} if "program" in a else a for a in answers]
    return cells


def _of_guest(cell: dict[str, Any]) -> dict[str, Any]:
    """What a guest and overlock-hostd said, as programs say it."""
    said = cell["said"]
    if said["wrong"]:
        raise Fail(f"{cell['program']}: {said['wrong']}", FAILED)
    ns, weight = zip(*said["wait"], strict=True)
    return {
        **cell,
        "per_thread": said["per_thread"],
        "seconds": said["window_ns"] * 1e-9,
        "p99_us": p99_ns({"ns": ns, "weight": weight}) / 1000,
        "longest_us": max(ns) / 1000,
    }


def _take_program(cell: dict[str, Any], row: Row) -> None:
    if "said" in cell:
        cell = _of_guest(cell)
        row.told.append(cell["told"])
    row.take(sum(cell["per_thread"]), cell, cell["p99_us"], cell["longest_us"])


def _take(cell: dict[str, Any], row: Row) -> None:
    if cell["type"] != "cell":
        raise Fail(f"the bench says: {cell.get('message', cell)}", FAILED)
    if cell["wrong"]:
        raise Fail(f"{cell['variant']}: {cell['wrong']}", FAILED)
    row.take(cell["acquisitions"], cell, p99_ns(cell["latency"]) / 1000, cell["gap_ns"] / 1000)
    if events := cell.get("events"):
        row.acquired.append(events["ACQUIRE"])
        row.lhp.append(events["LHP"])
        row.lwp.append(events["LWP"])


Rows = dict[tuple[str, int, str], Row]


def measured(
    told: vm.Told, options: dict[str, Any]
) -> tuple[Rows, dict[str, list[dict[str, Any]]]]:
    """By lock, threads and scheduler; and what the schedulers counted. All in one boot."""
    rows: Rows = {}
    counted: dict[str, list[dict[str, Any]]] = {}
    order = random.Random(options["seed"] or 0)  # noqa: S311 - no secret
    for _ in range(options["rounds"]):
        for under in order.sample(options["under"], len(options["under"])):
            measure = _measure_programs if options["programs"] else _measure
            for answer in measure(told, under, options):
                if "slices" in answer:
                    counted.setdefault(under, []).append(answer)
                elif "program" in answer:
                    key = (answer["program"], answer["threads"], under)
                    _take_program(answer, rows.setdefault(key, Row()))
                elif answer["type"] != "facts":
                    key = (answer["variant"], answer["threads"], under)
                    _take(answer, rows.setdefault(key, Row()))
    return rows, counted


def _range(rates: Sequence[float]) -> str:
    return f"   ({min(rates):,.0f} - {max(rates):,.0f})" if len(rates) > 1 else ""


def _show(rows: Rows, counted: dict[str, list[dict[str, Any]]], options: dict[str, Any]) -> None:
    out = terminal()
    if (rounds := options["rounds"]) == 1:
        out.print(
            "1 round: no range is known, so differences may be chance; repeat with --rounds 5"
        )
    else:
        out.print(
            f"Medians of {rounds} rounds, and the longest wait of all; in parentheses the least "
            "and the most rate."
        )
    programs = options["programs"]
    what, unit = ("program", "operations/s") if programs else ("lock", "acquisitions/s")
    lock = max(len(what), *(len(key[0]) for key in rows))
    wide = max(len(key[2]) for key in rows)
    out.print(f"{what:{lock}}  threads  {'under':{wide}}  {unit:>14}     p99 us  longest ms   Jain")
    for name in programs or options["locks"]:
        for threads in options["threads"]:
            for under in options["under"]:
                row = rows[name, threads, under]
                events = ""
                if acquired := sum(row.acquired):
                    of = f"{sum(row.lwp)} in line and {sum(row.lhp)} holding, of {acquired:,}"
                    events = f"   preempted: {of}"
                if told := [each["error_ns"] for each in row.told]:
                    late = statistics.median(error["p50"] for error in told) / 1000
                    events = f"   told ends: off by {late:,.0f} us (p50)"
                out.print(
                    f"{name:{lock}}  {threads:7}  {under:{wide}}  "
                    f"{statistics.median(row.rates):14,.0f} {statistics.median(row.p99_us):10,.1f}"
                    f"  {max(row.longest_us) / 1000:10,.1f}"
                    f"   {statistics.median(row.jain):.2f}{_range(row.rates)}{events}"
                )
    for under, times in counted.items():
        ended = sum(told["taken"] + told["broken"] for told in times)
        within = sum(told["within"] for told in times)
        led, named = (sum(told[key] for told in times) for key in ("led", "named"))
        kept = f"{100 * within / ended:.2f} % of {ended}" if ended else "no"
        out.print(
            f"{under}: {kept} slices ended within 50 us of the published end; led {led}/{named}"
        )


def _possible(under: Sequence[str], kernel: build.Kernel) -> list[str]:
    """Schedulers that the kernel can have, of those that were not all asked for."""
    if kernel.has_sched_ext:
        return list(under)
    if KERNEL not in under:
        raise Fail(f"--under {under[0]}: Linux {kernel.release} has no sched_ext; give kernel")
    return [KERNEL]


def _extend(told: vm.Told, us: float) -> None:
    if EXTENSION in asked(told, f"ls {EXTENSION} 2>/dev/null; true", START_SECONDS):
        asked(told, f"echo {us * 1000:.0f} >{EXTENSION}", START_SECONDS)


def _check(options: dict[str, Any]) -> None:
    """Before minutes of fetching, booting and counting."""
    if file := options["json_file"]:
        files.check_writable(Path(file))
    known = subjects.subjects().what | dict.fromkeys(build.LOCKS, "")
    for lock in options["locks"]:
        defs.checked_variant(
            lock, known, f"`overlock locks` lists them; also {', '.join(build.LOCKS)}"
        )


def run(options: dict[str, Any]) -> int:
    _check(options)
    options["threads"] = options["threads"] or [4 * options["smp"]]
    if options["console"]:
        return vm.console(_spec(options), "give --command")
    with guest(options) as told:
        _extend(told, options["extension_us"])
        result = {"guest": told.facts, "smp": options["smp"], **_results(told, options)}
    if options["json_file"]:
        files.write(Path(options["json_file"]), (json.dumps(result, indent=1) + "\n").encode())
    return 0


def _results(told: vm.Told, options: dict[str, Any]) -> dict[str, Any]:
    if command := options["command"]:
        said = asked(told, command, 3600.0)
        for line in said:
            terminal().print(line)
        return {"command": command, "said": [json.loads(s) for s in said if s.startswith("{")]}
    rows, counted = measured(told, options)
    _show(rows, counted, options)
    cells = [
        {"lock": key[0], "threads": key[1], "under": key[2], **vars(row)}
        for key, row in rows.items()
    ]
    return {"cells": cells, "schedulers": counted}
