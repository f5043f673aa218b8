# SPDX-License-Identifier: MIT
"""What `overlock sim` does: from a scenario to its runs, and to what is shown and kept."""

import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from overlock_tools.analyze import verdict
from overlock_tools.measure.campaign import make, print_result, remarks
from overlock_tools.measure.conditions.base import deferred
from overlock_tools.model import plan as plans
from overlock_tools.model.results import Result
from overlock_tools.render import tables
from overlock_tools.simulate import cluster, collect, resolve, runner, scenario, show, telling
from overlock_tools.simulate.cache import Cache
from overlock_tools.simulate.resolve import Place, Run
from overlock_tools.simulate.scenario import Scenario
from overlock_tools.system import files, machine, native
from overlock_tools.system.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.system.terminal import Running, console

DRAW_EVERY_SECONDS = 0.25
SAY_EVERY_SECONDS = 10.0


@dataclass
class Part:
    """A result, of places that differ only in the number of contexts; and its file."""

    result: Result
    runs: list[Run]
    file: Path | None
    left: int = 0


@dataclass
class Session:
    """The parts and what is known of their runs."""

    parts: list[Part]
    cache: Cache
    program: str
    by_key: dict[str, list[tuple[Part, Run]]] = field(default_factory=dict)
    tasks: list[cluster.Task] = field(default_factory=list)
    known: int = 0  # of a cache

    def __post_init__(self) -> None:
        for part in self.parts:
            part.left = len(part.runs)
            for run in part.runs:
                self.by_key.setdefault(run.key(self.program), []).append((part, run))
        for key, wanted in self.by_key.items():
            if answer := self.cache.get(key):
                self._add(key, answer)
                self.known += len(wanted)
            else:
                self.tasks.append(cluster.Task(key, wanted[0][1].told))

    @property
    def total(self) -> int:
        return sum(len(part.runs) for part in self.parts)

    @property
    def left(self) -> int:
        return sum(part.left for part in self.parts)

    def done(self, key: str, answer: dict[str, Any]) -> None:
        self.cache.put(key, answer)
        self._add(key, answer)

    def _add(self, key: str, answer: Mapping[str, Any]) -> None:
        for part, run in self.by_key[key]:
            collect.add(part.result, run, answer)
            part.left -= 1


def run(options: Mapping[str, Any]) -> int:
    out = console()
    if options["listing"]:
        show.listing(out)
        return 0
    if not options["scenario"]:
        raise Fail("name a scenario: a file, or one that `overlock sim --list` shows")
    asked = scenario.load(options["scenario"], _changes(options))
    places = resolve.places(asked)
    if options["print_only"]:
        print(show.resolved(places), end="", flush=True)
        return 0
    if telling.wanted(options):
        return telling.run(places, options, out)
    program = runner.digest(native.simulator())
    parts = _parts(asked, places, program, options)
    session = Session(parts, Cache(_cache(options)), program)
    with deferred() as asked_to_end:
        _simulate(session, options, out, asked_to_end)
        return _finish(session, asked_to_end(), options, out)


def _changes(options: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
    found = []
    for text in options["settings"]:
        path, equals, value = text.partition("=")
        if not equals:
            raise Fail(f"--set {text}: expected PATH=VALUE, as in machine.cpus=4")
        found.append((path.strip(), scenario.parsed(value.strip()), f"--set {text}"))
    if options["locks"]:
        names = [name for text in options["locks"] for name in text.split(",") if name]
        found.append(("locks", names, f"--locks {','.join(options['locks'])}"))
    if options["seeds"]:
        found.append(("seeds", _seeds(options["seeds"]), f"--seeds {options['seeds']}"))
    if options["time_ms"] is not None:
        found.append(("time_ms", options["time_ms"], f"--time {options['time_ms']:g}"))
    return found


def _seeds(text: str) -> int | list[int]:
    if not re.fullmatch(r"[0-9]+(,[0-9]+)*,?", text):
        raise Fail(f"--seeds {text}: expected a number of seeds, or a list such as 1,5,9")
    numbers = [int(word) for word in text.split(",") if word]
    return numbers if "," in text else numbers[0]


# What is to be done


def _parts(
    asked: Scenario, places: Sequence[Place], program: str, options: Mapping[str, Any]
) -> list[Part]:
    groups: dict[str, list[Place]] = {}
    for place in places:
        point = {p: v for p, v in place.point.items() if p != asked.contexts_path}
        groups.setdefault(repr(point), []).append(place)
    command = _command(options)
    names = [_file_name(group[0], asked) for group in groups.values()]
    paths = _files(options["output"], names)
    return [
        Part(
            collect.new_result(group, program, command),
            [run for place in group for run in resolve.runs(place)],
            path,
        )
        for group, path in zip(groups.values(), paths, strict=True)
    ]


def _files(output: Path | None, names: Sequence[str]) -> list[Path | None]:
    """One file, or a folder of them if other parameters than contexts are swept."""
    if not output:
        return [None] * len(names)
    if len(names) == 1 and not output.is_dir():
        files.check_writable(output)
        return [output]
    if output.is_file() or (len(names) > 1 and output.suffix == ".json"):
        raise Fail(f"-o {output}: the sweep has {len(names)} results; give a folder")
    make(output)
    return [output / f"{name}.json" for name in names]


def _file_name(place: Place, asked: Scenario) -> str:
    point = [f"{p}={v}" for p, v in place.point.items() if p != asked.contexts_path]
    return re.sub(r"[^\w.,=-]", "_", "-".join([asked.name, *point]))


def _cache(options: Mapping[str, Any]) -> Path | None:
    """Only where the user has named a place."""
    if options["cache"]:
        return Path(options["cache"])
    output: Path | None = options["output"]
    if not output or (output.exists() and not output.is_file() and not output.is_dir()):
        return None
    return output / "runs" if output.is_dir() else output.with_name(f"{output.stem}.runs")


def _command(options: Mapping[str, Any]) -> str:
    words: list[object] = ["overlock", "sim", options["scenario"]]
    for text in options["settings"]:
        words += ["--set", text]
    for text in options["locks"]:
        words += ["--locks", text]
    words += ["--seeds", options["seeds"]] if options["seeds"] else []
    words += ["--time", f"{options['time_ms']:g}"] if options["time_ms"] is not None else []
    return shlex.join(map(str, words))


# Doing it


class Progress:
    """The part that is simulated, redrawn on a terminal; elsewhere a line now and then."""

    def __init__(self, session: Session, out: Console, quiet: bool) -> None:
        self.session, self.quiet = session, quiet
        self.every = DRAW_EVERY_SECONDS if out.is_terminal else SAY_EVERY_SECONDS
        self.began = self.drawn = time.monotonic()
        self.live = Running(out, self._table, self._line)

    def tick(self) -> None:
        now = time.monotonic()
        if not self.quiet and now - self.drawn >= self.every:
            self.drawn = now
            self.live.update()

    def _line(self) -> str:
        session = self.session
        done = session.total - session.left
        fresh = done - session.known
        if not fresh:
            return f"{done} of {session.total} runs done"
        left = (time.monotonic() - self.began) / fresh * session.left
        return f"{done} of {session.total} runs done, about {plans.in_words(left)} left"

    def _table(self) -> Group:
        part = next((p for p in self.session.parts if p.left), self.session.parts[-1])
        total = len(part.runs)
        table = tables.matrix(part.result, total - part.left, total)
        return Group(
            Text(part.result.title, style="bold"),
            *(table, Text(f"{self._line()}; Ctrl-C stops and keeps finished runs")),
        )


def _simulate(
    session: Session, options: Mapping[str, Any], out: Console, asked_to_end: Any
) -> None:
    jobs = options["jobs"] or len(os.sched_getaffinity(0))
    terms = cluster.Terms(session.program, jobs, options["cluster"], options["limit"])
    progress = Progress(session, out, options["quiet"])
    if not options["quiet"]:
        out.print(_introduction(session), soft_wrap=True)
    if not session.tasks:
        return

    def ending() -> bool:
        progress.tick()
        return bool(asked_to_end())

    with progress.live.shown():
        cluster.run(session.tasks, terms, session.done, ending)


def _introduction(session: Session) -> str:
    first = session.parts[0].result
    known = f", {session.known} of them known from the cache" if session.known else ""
    runs = f"{session.total} run{'' if session.total == 1 else 's'}"
    return (
        f"{machine.headline(first.machine)}\n"
        f"{runs} of {first.settings['seconds']:g} s simulated time{known}"
    )


def _finish(session: Session, interrupted: bool, options: Mapping[str, Any], out: Console) -> int:
    for part in session.parts:
        collect.complete(part.result)
        part.result.complete = not part.left
        _conclude(part.result)
        _keep(part)
    if not options["quiet"]:
        for part in session.parts:
            _show(part, len(session.parts) > 1, out)
    _say_written(session.parts, options["output"], out)
    if interrupted:
        done = f"{session.total - session.left} of {session.total} runs are complete"
        kept = "; repeat the command to continue" if session.cache.folder else ""
        hint = kept or "; give -o FILE or --cache FOLDER to keep them next time"
        out.print(f"interrupted: {done}{hint}", soft_wrap=True)
        return INTERRUPTED
    return _code(session.parts, options["quiet"], out)


def _conclude(result: Result) -> None:
    if result.cells:
        result.verdict = verdict.sentences(result)
    else:
        result.verdict = [f"WRONG: {line}." for line in result.wrong()]


def _keep(part: Part) -> None:
    if part.file and (part.result.cells or part.result.hung):
        files.write(part.file, part.result.to_json())


def _show(part: Part, several: bool, out: Console) -> None:
    result = part.result
    if several:
        out.print(Text(result.title, style="bold"), soft_wrap=True)
    if not result.cells:
        for line in [*result.verdict, *remarks(result)]:
            out.print(result.worded(line), soft_wrap=True)
        return
    print_result(result, out)


def _say_written(parts: Sequence[Part], output: Path | None, out: Console) -> None:
    written = [part.file for part in parts if part.file and part.file.exists()]
    if not output or not written:
        return
    what = f"written: {written[0]}" if len(written) == 1 else f"written: {len(written)} results"
    shown = written[0] if len(written) == 1 else output
    out.print(f"{what}; `overlock report {shown} -o report.html` makes a page", soft_wrap=True)


def _code(parts: Sequence[Part], quiet: bool, out: Console) -> int:
    failed = [p.result for p in parts if any(p.result.wrong()) or p.result.impossible]
    if quiet:
        for result in failed:
            for line in [*(f"WRONG: {one}." for one in result.wrong()), *remarks(result)]:
                out.print(result.worded(line), soft_wrap=True)
    return FAILED if failed else 0
