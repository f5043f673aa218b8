# SPDX-License-Identifier: MIT
"""The model checker: what is said of an order or of waiting, in every execution of a size.

Keys of a way:

    runs   each: lock, size, scenario, model, budgets, tune, clock, roles and search as
           overlock-check has them; claims; and `finds`, what is to be found where the paper says
           that something can happen
    shape  runs that hold where the words of the paper do not
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from overlock_tools.check.job import Job, Search, Size, Subject
from overlock_tools.core.system import native
from overlock_tools.lab.reproduce.checks import Verdict
from overlock_tools.lab.reproduce.rigs.base import Asked, Judged, Known, Place, Source
from overlock_tools.lab.reproduce.rows import Way

PROGRAM = "overlock-check"
SECONDS = 60.0  # of a search
USUAL_S = 2.0


def _job(raw: Mapping[str, Any]) -> Job:
    return Job(
        Subject(raw["lock"], tuple(raw.get("tune", ()))),
        raw.get("scenario", "order"),
        raw.get("model", "sc"),
        Size.parse(raw["size"]),
        tuple(raw.get("budgets", {}).items()),
        Search(raw.get("search", "dpor"), 1 if "search" in raw else None, SECONDS),
        clock=raw.get("clock"),
        roles=raw.get("roles", ""),
    )


class Exploration(Source):
    def __init__(self, raw: Mapping[str, Any], known: Known) -> None:
        self.claims: Sequence[str] = raw.get("claims", ())
        self.job = _job(raw)
        self.more = [*(f"--claim={one}" for one in self.claims), *raw.get("options", ())]
        name = " ".join(["proof", *self.job.arguments(), *self.more])
        needed = [f"native {PROGRAM}"]
        super().__init__(name, known.kept_s.get(name, USUAL_S), needed)
        self.result: dict[str, Any] = {}

    @property
    def commands(self) -> Sequence[str]:
        return [" ".join([PROGRAM, *self.job.arguments(), *self.more])]

    def advance(self, place: Place) -> str:
        self.is_over = True
        command = [str(native.file(PROGRAM)), *self.job.arguments(), *self.more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            self.result = json.loads(done.stdout.splitlines()[-1])["result"]
        except (ValueError, LookupError):
            return done.stderr.strip() or f"{PROGRAM} ended with {done.returncode}"
        return ""

    @property
    def finds(self) -> str:
        """What goes against the claim, in words."""
        failure = self.result.get("failure")
        return f"{failure['property']}: {failure['how']}" if failure else ""

    @property
    def holds(self) -> bool | None:
        """None: not all executions were explored, and nothing was found."""
        if self.finds:
            return False
        return True if self.result.get("exhausted") else None


class Proof(Asked):
    def __init__(self, way: Way, known: Known) -> None:
        self.runs = [self._of(raw, known) for raw in way.asked["runs"]]
        self.shape = [self._of(raw, known) for raw in way.asked.get("shape", ())]
        self.sources = [one for one, _ in (*self.runs, *self.shape)]

    @staticmethod
    def _of(raw: Mapping[str, Any], known: Known) -> tuple[Exploration, str]:
        return known.source(Exploration(raw, known)), raw.get("finds", "")

    def judge(self) -> Judged:
        told = [_said(one, finds) for one, finds in (*self.runs, *self.shape) if one.result]
        verdict = _all(self.runs)
        if verdict == Verdict.NOT and self.shape:
            shape = _all(self.shape)
            verdict = {Verdict.HOLDS: Verdict.PARTLY, Verdict.NOTHING: shape}.get(shape, verdict)
        against = next((one.finds for one, finds in self.runs if one.finds and not finds), "")
        takes = "" if verdict != Verdict.UNDECIDED else "a longer search: more executions are left"
        return Judged(verdict, told, against, takes)


def _all(runs: Sequence[tuple[Exploration, str]]) -> Verdict:
    found = [_verdict(one, finds) for one, finds in runs]
    for verdict in (Verdict.NOT, Verdict.UNDECIDED, Verdict.NOTHING):
        if verdict in found:
            return verdict
    return Verdict.HOLDS


def _verdict(one: Exploration, finds: str) -> Verdict:
    if not one.result:
        return Verdict.NOTHING
    if finds:  # the paper says that it can happen; after another fault nobody has looked for it
        if finds in one.finds:
            return Verdict.HOLDS
        return Verdict.NOT if one.holds else Verdict.UNDECIDED
    return {True: Verdict.HOLDS, False: Verdict.NOT, None: Verdict.UNDECIDED}[one.holds]


def _said(one: Exploration, finds: str) -> dict[str, Any]:
    job = one.job
    size = f"{job.size.contexts} contexts × {job.size.acquisitions} acquisitions"
    if one.finds:
        told = one.finds
    elif one.holds:
        told = f"none in all {one.result['executions']:,} executions"
    else:
        told = f"none in {one.result.get('executions', 0):,} executions, not all"
    claims = ", ".join(one.claims) or "exclusion and progress"
    tune = "".join(f", {setting}" for setting in job.subject.tune)
    return {
        "what": f"{job.subject.name}{tune}: counterexample to {claims}",
        "at": f"{size}, {job.model.upper()}",
        "paper": finds or "none",
        "text": told,
        "verdict": _verdict(one, finds),
    }
