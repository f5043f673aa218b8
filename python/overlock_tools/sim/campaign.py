# SPDX-License-Identifier: MIT
"""What `overlock sim` does: from a scenario to its runs, and to what is shown and kept."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from overlock_tools.bench.campaign import make, print_result, remarks
from overlock_tools.bench.conditions.base import deferred
from overlock_tools.core.analyze import verdict
from overlock_tools.core.model.results import Result
from overlock_tools.core.render import tables
from overlock_tools.core.system import files, machine, native
from overlock_tools.core.system.called import typed
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.core.system.terminal import console
from overlock_tools.sim import collect, resolve, runner, scenario, show, telling
from overlock_tools.sim.batch import Batch, Shown
from overlock_tools.sim.cache import Cache
from overlock_tools.sim.resolve import Place, Run
from overlock_tools.sim.scenario import Scenario


@dataclass
class Part:
    """A result, of places that differ only in the number of contexts; and its file."""

    result: Result
    runs: list[Run]
    file: Path | None
    left: int = 0


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
    if asked.axes:
        name = options["scenario"]
        raise Fail(f"{name}: a grid of {len(places)} scenarios; run `overlock sim grid {name}`")
    parts = _parts(asked, places, options)
    batch = _batch(parts, Cache(kept_in(options)))
    if not options["quiet"]:
        out.print(_introduction(parts, batch), soft_wrap=True)
    shown = Shown(out, options["quiet"], lambda: _table(parts))
    with deferred() as asked_to_end:
        batch.simulate(options, shown, asked_to_end)
        return _finish(parts, batch, asked_to_end(), options, out)


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


def _parts(asked: Scenario, places: Sequence[Place], options: Mapping[str, Any]) -> list[Part]:
    groups: dict[str, list[Place]] = {}
    for place in places:
        point = {p: v for p, v in place.point.items() if p != asked.contexts_path}
        groups.setdefault(repr(point), []).append(place)
    command, program = _command(options), runner.digest(native.simulator())
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


def _batch(parts: Sequence[Part], cache: Cache) -> Batch:
    wanted = [(part, run) for part in parts for run in part.runs]
    for part in parts:
        part.left = len(part.runs)

    def add(place: int, answer: Mapping[str, Any]) -> None:
        part, run = wanted[place]
        collect.add(part.result, run, answer)
        part.left -= 1

    return Batch([run.told for _, run in wanted], cache, add)


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


def kept_in(options: Mapping[str, Any]) -> Path | None:
    """Only where the user has named a place."""
    if options["cache"]:
        return Path(options["cache"])
    output: Path | None = options["output"]
    if not output or (files.is_stream(output) and not output.is_dir()):
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


# What is shown and kept


def _table(parts: Sequence[Part]) -> Group:
    """The part that is simulated."""
    part = next((p for p in parts if p.left), parts[-1])
    total = len(part.runs)
    table = tables.matrix(part.result, total - part.left, total)
    return Group(Text(part.result.title, style="bold"), table)


def _introduction(parts: Sequence[Part], batch: Batch) -> str:
    first = parts[0].result
    known = f", {batch.known} of them known from the cache" if batch.known else ""
    runs = f"{batch.total} run{'' if batch.total == 1 else 's'}"
    return (
        f"{machine.headline(first.machine)}\n"
        f"{runs} of {first.settings['seconds']:g} s simulated time{known}"
    )


def _finish(
    parts: Sequence[Part],
    batch: Batch,
    interrupted: bool,
    options: Mapping[str, Any],
    out: Console,
) -> int:
    for part in parts:
        collect.complete(part.result)
        part.result.complete = not part.left
        _conclude(part.result)
        _keep(part)
    if not options["quiet"]:
        for part in parts:
            _show(part, len(parts) > 1, out)
    _say_written(parts, options["output"], out)
    if interrupted:
        out.print(batch.interrupted(), soft_wrap=True)
        return INTERRUPTED
    return _code(parts, options["quiet"], out)


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
    page = typed(f"`overlock report {shown} -o report.html`")
    out.print(f"{what}; {page} makes a page", soft_wrap=True)


def _code(parts: Sequence[Part], quiet: bool, out: Console) -> int:
    failed = [p.result for p in parts if any(p.result.wrong()) or p.result.impossible]
    if quiet:
        for result in failed:
            for line in [*(f"WRONG: {one}." for one in result.wrong()), *remarks(result)]:
                out.print(result.worded(line), soft_wrap=True)
    return FAILED if failed else 0
