# SPDX-License-Identifier: MIT
"""`make third-party`: third-party test suites under `overlock run` and natively.

Each program of a suite runs natively and under each lock, one after the other; every test must end
under the locks as it does natively. Where one does not, both are run three times more: a test that
natively ends in the same ways is called unsteady, any other differs, and is an error of ours.

Examples:
  make third-party                                    every suite, under seven locks
  make third-party ARGS="--only python --locks mcs"
  make third-party ARGS="--program test_queue --json build/foreign.json"
Exit codes: 0 no test differs, 1 one does, 3 a package is missing, 130 interrupted.
"""

import argparse
import json
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from overlock_tools.bench import header_locks, machine_queue
from overlock_tools.bench.programs import NATIVE
from overlock_tools.core.model import defs
from overlock_tools.core.system import files, machine
from overlock_tools.core.system.errors import INTERRUPTED, Fail, say
from overlock_tools.core.system.terminal import console
from tests.conftest import TOP
from tests.run.thirdparty import judging, running
from tests.run.thirdparty.judging import Program
from tests.run.thirdparty.reading import FAILED, PASSED, SKIPPED
from tests.run.thirdparty.suite import SUITES, Suite, lacking, load, obtained

LOCKS = (
    "tas_yield,ticket,preemptable_ticket,pv_preemptable_ticket,owner_qspin,mcs,partitioned_ticket"
)
AGAIN = 3
CLOSE = 20  # lines of what a program said that are shown of a difference


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    what, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="make third-party", description=what, epilog=more, formatter_class=Raw
    )
    parser.add_argument("--only", action="append", default=[], metavar="SUITE", help="this suite")
    parser.add_argument(
        "--program",
        action="append",
        default=[],
        metavar="TEXT",
        help="programs with it in the name",
    )
    parser.add_argument("--locks", default=LOCKS, metavar="A,B", help=f"(default: {LOCKS})")
    parser.add_argument("--small", action="store_true", help="what `make test` runs, and no more")
    parser.add_argument(
        "--again", type=int, default=AGAIN, metavar="N", help="runs of what differs"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="every verdict")
    parser.add_argument("--list", action="store_true", help="list the suites and stop")
    parser.add_argument("--suites", type=Path, default=SUITES, help="another list of suites")
    parser.add_argument("--build", type=Path, default=TOP / "build", help="the build folder")
    return parser.parse_args(words)


class Raw(argparse.RawDescriptionHelpFormatter):
    pass


def checked(names: str) -> list[str]:
    """Locks; the first also by the library that counts."""
    locks = [name for name in names.split(",") if name]
    for name in locks:
        if not header_locks.is_header(name):
            defs.load().lock(name)
    counted = [f"{locks[0]} {running.COUNTED}"] if locks and "/" not in locks[0] else []
    return [*locks, *counted]


def suites(options: argparse.Namespace) -> list[Suite]:
    known = load(options.suites)
    for name in options.only:
        if name not in known:
            raise Fail(f"there is no suite {name}; there are {', '.join(known)}")
    chosen = [known[name] for name in options.only or known]
    chosen = [s for s in chosen if s.chosen(options.program, options.small)]
    if not chosen:
        raise Fail(f"no program has {' or '.join(options.program)} in its name; see --list")
    return chosen


def listed(known: Mapping[str, Suite], out: Console) -> int:
    table = Table(box=None, pad_edge=False)
    for heading in ("suite", "programs", "is here", "what"):
        table.add_column(heading)
    for suite in known.values():
        here = "no: make third-party" if lacking(suite) else "yes"
        table.add_row(suite.name, str(len(suite.programs)), here, suite.what)
    out.print(table)
    return 0


class Session:
    """The programs that were run, so far."""

    def __init__(self, options: argparse.Namespace, out: Console) -> None:
        self.options, self.out = options, out
        self.variants = checked(options.locks)
        self.programs: list[Program] = []
        self.began = time.monotonic()

    def tell(self, text: str) -> None:
        self.out.print(text, soft_wrap=True, highlight=False, markup=False)

    def run(self, chosen: Sequence[Suite]) -> None:
        home = self.options.build / "third-party"
        home.mkdir(parents=True, exist_ok=True)
        with machine_queue.asked_for() as turn:
            for suite in chosen:
                turn.take()
                built = obtained(suite, home, self.tell)
                for name in suite.chosen(self.options.program, self.options.small):
                    self.one(suite, name, built, turn)

    def one(self, suite: Suite, name: str, built: Path, turn: machine_queue.Turns) -> None:
        program = Program(suite.name, name)

        def run(variant: str) -> running.Outcome:
            turn.pass_on()
            turn.take()
            return running.once(suite, name, variant, built)

        borne = [v for v in self.variants if suite.bears(v.partition(" ")[0])]
        judging.compared(program, borne, run, self.options.again)
        self.programs.append(program)
        self.tell(line_of(program))
        for difference in program.differences():
            self.tell(f"  {difference.words()}")
            if difference.is_ours:
                for line in last_words(program, difference):
                    self.tell(f"    | {line}")

    def document(self, complete: bool) -> dict[str, object]:
        return {
            "command": shlex.join(["make", "third-party", *sys.argv[1:]]),
            "machine": machine.facts(),
            "complete": complete,
            "seconds": round(time.monotonic() - self.began, 1),
            "runs": judging.as_json(self.programs),
            "differences": [
                {**vars(d), "is_ours": d.is_ours} for p in self.programs for d in p.differences()
            ],
        }


def line_of(program: Program) -> str:
    counts = judging.passed(program.runs[NATIVE])
    told = ", ".join(f"{counts[what]} {what}" for what in (PASSED, FAILED, SKIPPED) if counts[what])
    slowest = max(program.runs, key=lambda variant: program.runs[variant][0].seconds)
    seconds = program.runs[slowest][0].seconds
    return (
        f"{program.suite}: {program.name}: {told} natively in "
        f"{program.runs[NATIVE][0].seconds:.1f} s; at most {seconds:.1f} s under {slowest}"
    )


def last_words(program: Program, difference: judging.Difference) -> Iterator[str]:
    for run in program.runs[difference.variant]:
        if run.verdicts.get(difference.test, judging.NOT_RUN) not in difference.native:
            yield from run.said.splitlines()[-CLOSE:]
            return


def table_of(session: Session) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("suite")
    table.add_column("natively: passed, failed, skipped", justify="right")
    for variant in session.variants:
        table.add_column(variant, justify="right")
    table.add_column("mutexes acquired, waited for", justify="right")
    for name, programs in judging.by_suite(session.programs):
        counts = judging.totals(programs, NATIVE)
        cells = [f"{counts[PASSED]}, {counts[FAILED]}, {counts[SKIPPED]}"]
        cells += [verdict(programs, variant) for variant in session.variants]
        runs = [run for program in programs for runs in program.runs.values() for run in runs[:1]]
        acquired, waited = sum(run.acquired for run in runs), sum(run.waited for run in runs)
        table.add_row(name, *cells, f"{acquired:,}, {waited:,}")
    return table


def verdict(programs: Sequence[Program], variant: str) -> str:
    if not any(variant in program.runs for program in programs):
        return "left out"
    found = [d for p in programs for d in p.differences() if d.variant == variant]
    ours = sum(d.is_ours for d in found)
    if ours:
        return f"{ours} differ"
    return f"the same, {len(found)} unsteady" if found else "the same"


def go(options: argparse.Namespace, out: Console) -> int:
    if options.list:
        return listed(load(options.suites), out)
    chosen = suites(options)
    if options.json:
        files.check_writable(options.json)
    session = Session(options, out)
    running.adopt_orphans()
    code = INTERRUPTED
    try:
        session.run(chosen)
        code = 1 if any(d.is_ours for p in session.programs for d in p.differences()) else 0
    except KeyboardInterrupt:
        say("interrupted; what was done is below")
    finally:
        running.end_orphans()
    out.print(table_of(session))
    if options.json:
        document = session.document(code != INTERRUPTED)
        files.write(options.json, json.dumps(document, indent=1) + "\n")
    return code


def stop(number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    signal.signal(signal.SIGTERM, stop)
    try:
        return go(parsed(), console())
    except Fail as error:
        say(error.message)
        return error.code


if __name__ == "__main__":
    sys.exit(main())
