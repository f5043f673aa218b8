# SPDX-License-Identifier: MIT
"""`overlock tune`: a run with counters, and the proposals as a table, JSON and TOML."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import timeit
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.core.model.quantities import duration
from overlock_tools.core.system import files, native
from overlock_tools.core.system.errors import FAILED, Fail
from overlock_tools.core.system.repeated import Input
from overlock_tools.run import (
    config,
    interpose,
    killed,
    live,
    profiling,
    run,
    stacks,
    trying,
    tuning,
)


@dataclass
class Beside:
    """While the program runs for its report, its calls are placed, and its load is applied."""

    reader: live.Reader
    load: str | None
    applied: "subprocess.Popen[bytes] | None" = None

    def __call__(self, child: "subprocess.Popen[bytes]") -> None:
        self.reader.totals()
        if self.load and not self.applied:
            self.applied = subprocess.Popen(self.load, shell=True)  # noqa: S602 - it is a command
        elif self.applied and self.applied.poll() is not None:
            child.terminate()


def measured(
    program: str, args: tuple[str, ...], lock: str, folded: Path | None, load: str | None
) -> tuple[dict[str, Any], trying.Program]:
    """The report of one run, its calls named; its streams are the program's."""
    path, variables = prepared(
        program, lock=lock, histograms=True, output=os.devnull, folded=folded
    )
    records = live.folder()
    try:
        beside = Beside(live.Reader(records), load)
        kept = variables | {"OVERLOCK_LIVE": str(records)}
        given = Input()
        with given.run() as read:
            words, around = (program, *args), profiling.Around(beside, read)
            ended = profiling.run(path, words, kept, lambda _: None, around)
        if not beside.reader.images(ended.pid):
            raise Fail(
                f"{program} did not load overlock's library, so nothing is known of its locks; is "
                "it set-user-ID, or did it become a program that is linked statically?",
                FAILED,
            )
        beside.reader.totals()  # to the last
        report = ended.last or killed.report(beside.reader, ended.pid, lock)
        if others := killed.of_others(beside.reader, ended.pid, program):
            profiling.tell(f"not looked at: {others}")
    finally:
        shutil.rmtree(records, ignore_errors=True)
    if beside.applied and beside.applied.wait():
        raise Fail(f"the load ended with {beside.applied.returncode}: {load}", FAILED)
    return profiling.named(report), trying.Program(path, (program, *args), ended.code, load, given)


def prepared(program: str, **options: Any) -> tuple[Path, dict[str, str]]:
    every = run.nothing() | options
    (name, variables), _ = run.prepare(program, every)
    return Path(name), variables


def decided(advice: tuning.Advice, program: trying.Program, rounds: int) -> tuning.Advice:
    """The lock that is proven to be faster than glibc's mutex on the program itself, or glibc."""
    if not advice.undecided:
        return advice
    if not rounds:
        return advice.with_lock(trying.GLIBC, "nothing was measured (--rounds 0)")
    if program.code < 0 and not program.load:
        why = "it did not end by itself, so its speed is unknown; give its work by --load COMMAND"
        return advice.with_lock(trying.GLIBC, why)
    proper, launcher = interpose.prepare().variables, str(native.file("overlock"))
    tuned = trying.Candidate(advice.lock_to_try, tuple(advice.tunables.items()))
    candidates = [trying.Candidate(config.PRESET), tuned]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the child, too
    profiling.tell(f"measuring 3 variants in {rounds} rounds; Ctrl-C ends it")

    def timed(candidate: trying.Candidate) -> float:
        if candidate == trying.GLIBC:
            return program.seconds(proper)
        return program.seconds(proper, [launcher, *candidate.options])

    verdict = trying.compare(timed, candidates, rounds)
    return advice.with_lock(verdict.best, verdict.why)


def python_ms(written: Path) -> float:
    """How much later a program starts by the file than by options: the least of some."""

    def least(*words: str) -> float:
        return min(timeit.repeat(lambda: subprocess.run(words, check=True), number=1, repeat=3))

    python = [sys.executable, "-m", "overlock_tools"]
    by_file = least(*python, "run", "--config", str(written), "--", "true")
    by_options = least(str(native.file("overlock")), "run", "--", "true")
    return max(0.0, by_file - by_options) * 1000


def how_to_run(advice: tuning.Advice, args: tuple[str, ...], written: Path | None) -> str:
    """The command whose time was measured; empty if it is the program's own."""
    if not advice.chosen.lock:
        return ""
    chosen = trying.Candidate(advice.chosen.lock, tuple(advice.chosen.tunables.items()))
    said = f"\nAs it was measured: {shlex.join(['overlock', *chosen.options, *args])}"
    if written:
        said += (
            f"\nBy {written}, which Python reads first, the program starts "
            f"{python_ms(written):.0f} ms later: use it for programs that run long."
        )
    return said


def table(advice: tuning.Advice, rows: int) -> str:
    short = list(tuning.SHORT_NS)
    lines = [
        f"{'acquisitions':>13} {'waited':>7} {'ahead':>6} {'p50':>8} {'p99':>8} {'longest':>8} "
        f"{short[0]:>12} {short[1]:>12}  call"
    ]
    for site in advice.sites[:rows]:
        ahead = "" if site.ahead is None else f"{site.ahead:.1f}"
        times = " ".join(f"{duration(tuning.quantile(site.hold, q)):>8}" for q in (0.5, 0.99, 1))
        under = " ".join(
            f"{tuning.share_under(site.hold, ns):>12.2%}" for ns in tuning.SHORT_NS.values()
        )
        waits = f"{site.acquisitions:>13} {site.contended:>7.1%} {ahead:>6}"
        where = f" ({site.where})" if site.where else ""
        lines.append(f"{waits} {times} {under}  {site.name}{where}")
    if advice.sites[rows:]:
        rest = sum(site.acquisitions for site in advice.sites[rows:])
        lines.append(f"{rest:>13} at {len(advice.sites) - rows} other calls")
    lines += ["", "p50, p99, longest: hold time, at most; 2^12, 2^14 cycles: share of sections"]
    lines += ["under 1.5 and 6.1 us, the bounds of Teabe et al. 2017", ""]
    lines += [f"{p.what} = {p.value}: {p.why}" for p in advice.proposals]
    lines += [f"  {name}: {p.value}: {p.why}" for name, p in advice.apart.items()]
    return "\n".join(lines)


def as_file(advice: tuning.Advice, program: str) -> str:
    lines = [f"Proposals of `overlock tune` for {program}, for `overlock run --config`."]
    lines += [f"{p.what} = {p.value}: {p.why}" for p in advice.proposals]
    if advice.apart:
        lines += ["A [[site]] with the function that initialises or first locks these mutexes"]
        lines += ["could choose a separate lock for them:"]
        lines += [f"  {name}: {p.value}: {p.why}" for name, p in advice.apart.items()]
    return config.to_text(advice.chosen, "\n".join(lines))


def tune(program: str, args: tuple[str, ...], lock: str, options: dict[str, Any]) -> None:
    json_path, written, folded = (options[name] for name in ("json_path", "config", "folded"))
    for path in filter(None, (json_path, written, folded)):
        files.check_writable(path)
    report, again = measured(program, args, lock, folded, options["load"])
    if folded:
        files.write(folded, stacks.folded(report))
    advice = tuning.advice(report)
    if advice.sites:
        advice = decided(advice, again, options["rounds"])
        print(table(advice, options["top"]), flush=True)
    else:
        print(f"{program} acquired no mutex that can be replaced; there is nothing to tune")
    if json_path:
        files.write(json_path, json.dumps(advice.to_json(), indent=1) + "\n")
    if written and advice.sites:
        files.write(written, as_file(advice, program))
    if said := how_to_run(advice, (program, *args), written):
        print(said)
