# SPDX-License-Identifier: MIT
"""Asks an outside checker (GenMC) about every lock, every mutant, every order dropped.

python -m overlock_tools.lab.genmc.run --genmc PATH locks|mutants|orders [LOCK ...]
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from overlock_tools.core.model import defs
from overlock_tools.core.system import errors, native
from overlock_tools.lab.genmc.client import OPTIONS, Site, emit, sites

MODELS = ("rc11", "imm")
HOLDS, FAILS, OPEN = "holds", "fails", "open"
# With GenMC's few contexts nobody waits far from its turn unless everybody does.
TUNES = {"long_term": 0}
EXIT_ERROR = 42  # GenMC's, for an error in the program


@dataclass(frozen=True)
class Size:
    contexts: int
    acquisitions: int
    tries: int  # acquisitions by trylock, after the others
    expiries: int  # deadlines of each context that may come at any moment

    def __str__(self) -> str:
        tried = f"+{self.tries}" if self.tries else ""
        return f"{self.contexts}×{self.acquisitions}{tried}"

    @property
    def defines(self) -> list[str]:
        return [f"-DOL_{name.upper()}={value}" for name, value in asdict(self).items()]


# A deadline that may come at any moment is affordable at the least size only.
SIZES = (Size(2, 1, 1, 1), Size(2, 2, 0, 0), Size(3, 1, 0, 0))


@dataclass(frozen=True)
class Run:
    model: str
    size: str
    verdict: str
    how: str
    executions: int
    blocked: int
    seconds: float


@dataclass(frozen=True)
class Checker:
    genmc: str
    seconds: float
    work: Path

    def run(self, name: str, text: str, model: str, size: Size, tunes: dict[str, int]) -> Run:
        source = Path(tempfile.mkdtemp(dir=self.work)) / f"{name}.c"
        source.write_text(text)
        flags = [*size.defines, *(f"-DOL_TUNE_{key}={value}" for key, value in tunes.items())]
        command = [self.genmc, f"--{model}", *OPTIONS, "--", "-std=c11", *flags, str(source)]
        started = time.monotonic()
        try:
            ran = subprocess.run(
                ["nice", *command],
                check=False,
                capture_output=True,
                text=True,
                timeout=self.seconds,
            )
        except subprocess.TimeoutExpired:
            return Run(model, str(size), OPEN, "time", 0, 0, self.seconds)
        took = round(time.monotonic() - started, 2)
        return Run(model, str(size), *_verdict(ran), took)


def _number(text: str, what: str) -> int:
    found = re.search(rf"^Number of {what}: (\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def _verdict(ran: subprocess.CompletedProcess[str]) -> tuple[str, str, int, int]:
    text = ran.stdout + ran.stderr
    counts = (
        _number(text, "complete executions explored"),
        _number(text, "blocked executions seen"),
    )
    if ran.returncode == 0 and "No errors were detected." in text:
        return HOLDS, "", *counts
    if ran.returncode == EXIT_ERROR and (how := re.search(r"^Error: (.*?)!?$", text, re.MULTILINE)):
        return FAILS, how[1].lower(), *counts
    raise errors.Fail(f"genmc did not answer: {text.strip()[-400:]}", errors.FAILED)


def _first_failure(
    checker: Checker, name: str, text: str, model: str, tunes: dict[str, int]
) -> Run:
    """The first size at which it fails; else the last run, `open` if any was."""
    runs = []
    for size in SIZES:
        run = checker.run(name, text, model, size, tunes)
        runs.append(run)
        if run.verdict == FAILS:
            return run
    return next((run for run in runs if run.verdict == OPEN), runs[-1])


def _ours(lock: str, seconds: float, *more: str) -> dict[str, Any]:
    """What overlock-check says of the lock in C11's model, two contexts by two."""
    checker = native.folder() / "overlock-check"
    if not checker.exists():
        return {"verdict": "not asked"}
    tunes = [f"--tune={name}={value}" for name, value in TUNES.items()]
    command = [str(checker), "--lock", lock, "--model", "c11", "--seconds", str(seconds)]
    ran = subprocess.run(
        ["nice", *command, *tunes, *more], check=False, capture_output=True, text=True
    )
    try:
        result: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])["result"]
    except (IndexError, KeyError, ValueError) as error:
        raise errors.Fail(f"overlock-check did not answer: {ran.stderr.strip()}") from error
    return result


def _our_verdict(result: dict[str, Any]) -> str:
    if result["verdict"] == FAILS:
        return str(result["failure"]["property"])
    return str(result["verdict"]) if result.get("exhausted", True) else "open: time"


def _our_order(lock: str, site: Site, seconds: float) -> str:
    """The property that misses the order, with trylock() too or with lock() alone."""
    said = []
    for scenario in ("try", "lock"):
        result = _ours(lock, seconds, "--scenario", scenario, "--weaken", str(site))
        if result["verdict"] == FAILS:
            return _our_verdict(result)
        said.append(_our_verdict(result))
    return "not missed" if said == [HOLDS, HOLDS] else said[-1]


def locks(checker: Checker, names: Sequence[str], jobs: int) -> list[dict[str, Any]]:
    def one(name: str, model: str, size: Size) -> Run:
        return checker.run(name, emit(name), model, size, TUNES)

    wanted = [(name, model, size) for name in names for size in SIZES for model in MODELS]
    with ThreadPoolExecutor(jobs) as pool:
        runs = list(pool.map(lambda job: one(*job), wanted))
    ours = {name: _our_verdict(_ours(name, checker.seconds)) for name in names}
    return [
        {"lock": name, "ours": ours[name], **asdict(run)}
        for (name, _, _), run in zip(wanted, runs, strict=True)
    ]


def mutants(checker: Checker, given: Iterable[str], jobs: int) -> list[dict[str, Any]]:
    """Each is LOCK=FOLDER: the folder has the broken header, at its place below include."""

    def one(mutant: str) -> dict[str, Any]:
        lock, _, folder = mutant.partition("=")
        if not Path(folder).is_dir():
            raise errors.Fail(f"{mutant} names no folder; expected LOCK=FOLDER")
        text = emit(lock, include=Path(folder))
        tunes = TUNES
        found = {m: asdict(_first_failure(checker, lock, text, m, tunes)) for m in MODELS}
        return {"mutant": Path(folder).name, "lock": lock, **found}

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, given))


def _order(checker: Checker, lock: str, site: Site) -> dict[str, Any]:
    tunes = TUNES
    text = emit(lock, weaken=site)
    found = {model: _first_failure(checker, lock, text, model, tunes) for model in MODELS}
    reached = True
    if all(run.verdict != FAILS for run in found.values()):
        marked = emit(lock, mark=site)
        reached = _first_failure(checker, lock, marked, MODELS[0], tunes).verdict != HOLDS
    row = {"lock": lock, "site": str(site), "text": site.text, "reached": reached}
    row["ours"] = _our_order(lock, site, checker.seconds) if reached else ""
    return row | {model: asdict(run) for model, run in found.items()}


def orders(checker: Checker, names: Sequence[str], jobs: int) -> list[dict[str, Any]]:
    """Every order of every lock, dropped by itself. A header's line counts once for each lock."""
    wanted = [(name, site) for name in names for site in sites(name)]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda job: _order(checker, *job), wanted))


def _cell(run: dict[str, Any], otherwise: str) -> str:
    if run["verdict"] == FAILS:
        return f"{run['how']} ({run['size']})"
    return "open: time" if run["verdict"] == OPEN else otherwise


def _lines(what: str, rows: list[dict[str, Any]]) -> Iterator[list[str]]:
    if what == "locks":
        yield [
            "lock",
            "ours, C11 2×2",
            "size",
            "model",
            "GenMC",
            "executions",
            "blocked",
            "seconds",
        ]
        for row in rows:
            said = f"{row['verdict']}: {row['how']}" if row["how"] else row["verdict"]
            first = [row["lock"], row["ours"], row["size"], row["model"].upper(), said]
            yield [*first, f"{row['executions']:,}", f"{row['blocked']:,}", f"{row['seconds']:.1f}"]
    elif what == "mutants":
        yield ["mutant", "RC11", "IMM"]
        for row in rows:
            yield [row["mutant"], *(_cell(row[model], "not caught") for model in MODELS)]
    else:
        yield ["lock", "order dropped", "its line", "ours, C11 2×2", "RC11", "IMM"]
        for row in rows:
            if not row["reached"]:
                continue
            cells = [_cell(row[model], "not missed") for model in MODELS]
            text = row["text"].replace("|", "\\|")
            yield [row["lock"], row["site"], f"`{text}`", row["ours"], *cells]


def markdown(what: str, rows: list[dict[str, Any]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in _lines(what, rows)]
    lines.insert(1, "|---" * (lines[0].count(" | ") + 1) + "|")
    unreached = [f"{row['lock']} `{row['site']}`" for row in rows if not row.get("reached", True)]
    if unreached:
        lines += ["", f"Never run by this client: {', '.join(unreached)}."]
    return "\n".join(lines) + "\n"


def _into(page: Path, what: str, table: str) -> None:
    part = re.compile(rf"(<!-- genmc: {what} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
    page.write_text(part.sub(lambda found: found[1] + table + found[3], page.read_text()))


def disagreements(what: str, rows: list[dict[str, Any]]) -> list[str]:
    """Where the two checkers differ, or a lock fails, or a mutant holds."""
    if what == "locks":
        return [
            f"{row['lock']} {row['size']} {row['model']}: GenMC {row['verdict']}, we {row['ours']}"
            for row in rows
            if row["verdict"] == FAILS or row["ours"] not in (HOLDS, "not asked", "open: time")
        ]
    if what == "mutants":
        return [
            f"{row['mutant']}: not caught by {model}"
            for row in rows
            for model in MODELS
            if row[model]["verdict"] != FAILS
        ]
    return [
        f"{row['lock']} without {row['site']}: {model} {row[model]['verdict']}, we: {row['ours']}"
        for row in rows
        for model in MODELS
        if row["reached"] and (row[model]["verdict"] == HOLDS) != (row["ours"] == "not missed")
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make genmc", description=__doc__)
    parser.add_argument("what", choices=["locks", "mutants", "orders"])
    parser.add_argument("names", nargs="*", help="locks, or LOCK=FOLDER for mutants; all locks")
    parser.add_argument("--genmc", required=True, help="the checker's program")
    parser.add_argument("--seconds", type=float, default=120.0, help="at most, for each run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write every run there")
    parser.add_argument("--page", type=Path, help="put the table where that page has its marks")
    args = parser.parse_intermixed_args(arguments)
    try:
        genmc = shutil.which(args.genmc)
        if not genmc:
            raise errors.Fail(f"there is no program {args.genmc}; GENMC=PATH", errors.MISSING)
        known = defs.load()
        with tempfile.TemporaryDirectory() as work:
            checker = Checker(genmc, args.seconds, Path(work))
            if args.what == "mutants":
                rows = mutants(checker, args.names, args.jobs)
            else:
                names = [known.lock(name).id for name in args.names] or list(known.locks)
                run = locks if args.what == "locks" else orders
                rows = run(checker, names, args.jobs)
    except errors.Fail as fail:
        errors.say(fail.message)
        return fail.code
    table = markdown(args.what, rows)
    print(table, end="")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    if args.page:
        _into(args.page, args.what, table)
    wrong = disagreements(args.what, rows)
    for line in wrong:
        errors.say(line)
    return errors.FAILED if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
