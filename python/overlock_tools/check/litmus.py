# SPDX-License-Identifier: MIT
"""`overlock check FILE.litmus`: litmus tests in herd's C syntax, run by overlock-litmus."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from overlock_tools.check import display
from overlock_tools.check.plan import ALL
from overlock_tools.core.system import errors, files, native, reading
from overlock_tools.core.system.errors import FAILED, USAGE, Fail
from overlock_tools.core.system.terminal import console

SUFFIX = ".litmus"
FORMAT = "overlock-litmus"
VERSION = 1
MODELS = ("sc", "tso", "c11")
NOT_EXHAUSTED = 3
# Of more tests the outcomes are left to --json.
MOST_TOLD = 4
# All that a litmus test can be asked; the rest is about locks.
SECONDS = 60.0  # of CPU time, for each test
OPTIONS = {"locks", "models", "seconds", "jobs", "json_file", "no_cache"}
STYLES = {"allowed": "yellow", "violated": "yellow", "forbidden": "green", "holds": "green"}


@dataclass
class State:
    """An outcome, as far as the test observes it."""

    state: str
    executions: int
    holds: bool


@dataclass
class Result:
    """Of one test under one model."""

    model: str
    verdict: str
    ok: bool
    expected: bool
    observation: str
    positive: int
    negative: int
    executions: int
    exhausted: bool
    data_race: bool
    limits: list[str]
    states: list[State]

    @property
    def settled(self) -> bool:
        return self.exhausted or self.verdict in ("allowed", "violated")


@dataclass
class Answer:
    """What overlock-litmus says of one file."""

    file: str
    test: str = ""
    about: str = ""
    quantifier: str = ""
    states_verdicts: bool = False
    results: list[Result] = field(default_factory=list)
    error: str = ""


def is_litmus(name: str) -> bool:
    """A litmus test, or a folder with litmus tests."""
    return name.endswith(SUFFIX) or (Path(name).is_dir() and bool(_below(Path(name))))


def _below(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))


def _tests(given: Sequence[str]) -> list[Path]:
    found: dict[Path, None] = {}
    for name in given:
        if not is_litmus(name):
            raise Fail(f"{name} is no litmus test; check locks and litmus tests separately")
        path = Path(name)
        found.update(dict.fromkeys(_below(path) if path.is_dir() else [path]))
    return list(found)


def _models(given: Sequence[str]) -> list[str]:
    words = [word for text in given for word in text.split(",") if word]
    if unknown := [word for word in words if word not in (*MODELS, ALL)]:
        raise Fail(f"--model {unknown[0]}: expected {', '.join(MODELS)} or all")
    return [model for model in MODELS if not words or model in words or ALL in words]


def _answer(program: Path, test: Path, models: Sequence[str], seconds: float) -> Answer:
    options = [f"--seconds={seconds:g}", *(f"--model={model}" for model in models)]
    done = subprocess.run(
        [program, *options, "--", test],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    try:
        said: Answer = reading.made(Answer, reading.parsed(done.stdout), "its answer")
    except ValueError:
        why = errors.last_line(done.stderr)
        return Answer(str(test), error=f"{test}: overlock-litmus ended ({done.returncode}): {why}")
    return said


def _code(answers: Sequence[Answer]) -> int:
    results = [one for answer in answers for one in answer.results]
    if any(answer.error for answer in answers):
        return USAGE
    if any(one.settled and one.ok != one.expected for one in results):
        return FAILED
    return 0 if all(one.settled for one in results) else NOT_EXHAUSTED


def _said(answer: Answer, one: Result) -> Text:
    """Herd's Ok or No; where the file says what is right, whether that is so."""
    word = "Ok" if one.ok else "No"
    if not one.settled:
        return Text("not exhausted", style="yellow")
    if one.ok != one.expected:
        wanted = "Ok" if one.expected else "No"
        why = f", but the file expects {wanted}" if answer.states_verdicts else ""
        return Text(word + why, style="bold red")
    return Text(word + (", as expected" if answer.states_verdicts else ""), style="green")


def verdicts(answers: Sequence[Answer]) -> Table:
    """A line for each test and model."""
    table = display.headed(
        *(("test", "left"), ("model", "left"), ("verdict", "left"), ("condition", "left")),
        *(("observation", "left"), ("executions", "right"), ("limits", "left")),
    )
    table.columns[-1].no_wrap = False
    for answer in answers:
        for one in answer.results:
            table.add_row(
                *(answer.test, one.model),
                Text(one.verdict, style=STYLES.get(one.verdict, "yellow")),
                Text.assemble(f"{answer.quantifier}: ", _said(answer, one)),
                f"{one.observation} {one.positive} {one.negative}",
                display.count(one.executions),
                "; ".join(one.limits),
            )
    return table


def outcomes(answer: Answer) -> Table:
    """How many executions end in each outcome, by model; * where the proposition holds."""
    states = {one.state: one.holds for result in answer.results for one in result.states}
    table = display.headed(
        *((answer.test, "left"), ("", "left"), *((one.model, "right") for one in answer.results))
    )
    for state, holds in sorted(states.items()):
        counts = [{one.state: one.executions for one in r.states} for r in answer.results]
        shown = [display.count(of[state]) if state in of else "-" for of in counts]
        table.add_row(state, "*" if holds else "", *shown)
    return table


def _sentence(answers: Sequence[Answer]) -> str:
    results = [one for answer in answers for one in answer.results]
    right = sum(one.settled and one.ok == one.expected for one in results)
    stated = any(answer.states_verdicts for answer in answers)
    how = "hold, or are as the file expects" if stated else "hold"
    return f"{right} of {len(results)} conditions {how}"


def document(answers: Sequence[Answer]) -> str:
    """As schema/litmus.json says."""
    said = {
        "format": FORMAT,
        "version": VERSION,
        "command": shlex.join(["overlock", *sys.argv[1:]]),
        "tests": [_as_json(answer) for answer in answers],
    }
    return json.dumps(said, indent=2) + "\n"


def _as_json(answer: Answer) -> dict[str, Any]:
    if answer.error:
        return {"file": answer.file, "error": answer.error}
    return {
        "file": answer.file,
        "test": answer.test,
        "about": answer.about,
        "quantifier": answer.quantifier,
        "states_verdicts": answer.states_verdicts,
        "results": [
            {**vars(one), "states": [vars(state) for state in one.states]} for one in answer.results
        ],
    }


def _show(out: Console, answers: Sequence[Answer]) -> None:
    read = [answer for answer in answers if not answer.error]
    for answer in read if len(read) <= MOST_TOLD else []:
        display.put(out, outcomes(answer), display.LOG_WIDTH)
        out.print()
    if read:
        display.put(out, verdicts(read), display.LOG_WIDTH)
        out.print()
        out.print(_sentence(read))
    for answer in answers:
        if answer.error:
            errors.say(answer.error)


def run(options: Mapping[str, Any], given: set[str]) -> int:
    """What the options ask of litmus tests; `given`: those that the command line has."""
    if unfit := sorted(given - OPTIONS):
        name = unfit[0].removesuffix("_file").removesuffix("s").replace("_", "-")
        raise Fail(f"--{name} is for locks; litmus tests have --model, --seconds, --jobs, --json")
    tests, models = _tests(options["locks"]), _models(options["models"])
    path: Path | None = options["json_file"]
    if path:
        files.check_writable(path)
    program = native.litmus()
    at_once = options["jobs"] or len(os.sched_getaffinity(0))
    seconds = SECONDS if options["seconds"] is None else options["seconds"]
    with ThreadPoolExecutor(at_once) as pool:
        answers = list(pool.map(lambda test: _answer(program, test, models, seconds), tests))
    out = console()
    _show(out, answers)
    if path:
        files.write(path, document(answers))
        out.print(f"written: {path}")
    return _code(answers)
