# SPDX-License-Identifier: MIT
"""Programs in the place of overlock-bench: a cell is copies started, measured together, ended."""

import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.apps import processes
from overlock_tools.apps.app import App, Workspace
from overlock_tools.apps.processes import Place, Under, Used, User
from overlock_tools.apps.trial import RECORDS, Alone, Broken, Trial
from overlock_tools.bench import header_locks
from overlock_tools.bench.programs import scratch
from overlock_tools.core.model import combine, defs
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.model.results import Result
from overlock_tools.core.system import cgroups
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.kernel_files import Tree, Unknown
from overlock_tools.run import interpose, spins

NATIVE = "native"
SPINS = "spins"
SETTING = re.compile(r"[A-Z][A-Z0-9_]*=[^+]*(\+[A-Z][A-Z0-9_]*=[^+]*)*")
ELIDES = "elides"  # the trait of who knows its holder
PATIENCE_SECONDS, PATIENCE_TIMES = 10.0, 5.0
# Of the counted time, what copies may not have had in common.
APART = 0.2


@dataclass(frozen=True)
class Setting:
    """What all programs of a session have in common."""

    warm_up: float = 0.0  # seconds
    counted: bool = False
    histograms: bool = False


def is_setting(variant: str) -> bool:
    """The program as it is, with a variable of its own set: KMP_LOCK_KIND=tas; several by +."""
    return bool(SETTING.fullmatch(variant))


def checked(variant: str) -> str:
    """A lock of `overlock run`, with tunables, or a header; its --spins; or none of ours."""
    name = variant.partition("@")[0]
    if is_setting(variant) or variant == SPINS:
        return variant
    if name == NATIVE:
        if variant != NATIVE:
            raise Fail(f"{variant}: native has no tunables; remove the setting")
        return variant
    if variant == interpose.ADAPTIVE:
        return variant
    if header_locks.is_header(name):
        header_locks.lock_id(Path(name))
        return variant
    where = "`overlock locks` lists them, and native is glibc's mutex"
    known = defs.checked_variant(variant, defs.load().locks, where)
    if known.partition("@")[0] not in mutexes():
        raise Fail(f"{name} cannot replace a mutex, so `overlock run` refuses it; remove it")
    return known


def mutexes() -> list[str]:
    """Locks that may be released by another than who acquired them, as mutexes are."""
    return [lock.id for lock in defs.load().locks.values() if ELIDES not in lock.traits]


def base() -> dict[str, str]:
    """The environment of everything, without an outer `overlock run`."""
    return interpose.prepare().variables


def under(variant: str, setting: Setting, records: Path) -> Under:
    """As `overlock run --lock VARIANT` would start it, or `overlock run --spins`."""
    if variant == NATIVE:
        return processes.NATIVE
    if variant == SPINS:
        library = spins.library()
        preloaded = interpose.prepare(library).preloaded
        return Under(variant, library, spins.variables(spins.AUTO) | preloaded)
    if is_setting(variant):
        pairs = (text.partition("=") for text in variant.split("+"))
        return Under(variant, None, {name: value for name, _, value in pairs})
    name, *settings = variant.split("@")
    tunables: dict[str, str | None] = {}
    for word in settings:
        tunable, _, value = word.partition("=")
        tunables[tunable] = value
    interposer = interpose.built("-counted" if setting.counted else "")
    ours = interpose.lock_settings(name, tunables, setting.counted)
    if setting.counted:
        ours |= {"OVERLOCK_LIVE": str(records)}
    if setting.histograms:
        ours |= {"OVERLOCK_HISTOGRAMS": "1"}
    return Under(variant, interposer, ours | interpose.prepare(interposer).preloaded)


def throttled() -> int | None:
    """In how many periods a CPU quota has stopped our group; None where nothing says so."""
    tree = Tree()
    try:
        for folder in cgroups.of(tree, "self").folders:
            if text := tree.read_or(f"{folder}/cpu.stat"):
                return cgroups.throttling(text).throttled
    except Unknown:  # a group without the controller
        pass
    return None


@dataclass
class Copy:
    """A trial on its way, in a thread of its own."""

    trial: Trial
    answer: Answer | None = None
    error: BaseException | None = None

    def go(self, app: App) -> None:
        try:
            self.answer = app.cell(self.trial)
        except BaseException as error:
            self.error = error
            self.trial.together.abort()
        finally:
            self.trial.close()


@dataclass
class Rig:
    """Programs that are set up, and where what is seen beside their answers is noted."""

    folder: Path
    user: User | None
    setting: Setting
    apps: dict[str, App] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    pid: int = field(default_factory=os.getpid)

    def take(self, kind: type[App], parameters: Mapping[str, str], threads: list[int]) -> None:
        """It is set up later, if there is anything to be measured."""
        folder = self.folder / kind.name
        folder.mkdir()
        user = self.user if kind.service else None
        if user:
            os.chown(folder, user.uid, user.gid)
        self.apps[kind.name] = kind(Workspace(folder, parameters, threads, base(), user))

    def measure(self, cell: Mapping[str, object]) -> dict[str, Any]:
        app, result = self.apps[str(cell["workload"])], self.results[str(cell["workload"])]
        count = int(str(cell.get("copies", 1)))
        together = threading.Barrier(count)
        copies = [
            Copy(self._trial(app, cell, together, number, self._proven(result, cell)))
            for number in range(count)
        ]
        before = throttled()
        try:
            _run(copies, app)
        finally:
            for copy in copies:
                shutil.rmtree(copy.trial.folder, ignore_errors=True)
        answer = self._answer(copies, result, int(str(cell["threads"])), str(cell["variant"]))
        if before is not None:
            answer["throttled"] = (throttled() or before) - before
        return answer

    def _trial(
        self,
        app: App,
        cell: Mapping[str, object],
        together: threading.Barrier,
        number: int,
        proven: bool,
    ) -> Trial:
        folder = Path(tempfile.mkdtemp(prefix="cell-", dir=self.folder))
        records = folder / RECORDS
        records.mkdir()
        seconds = float(str(cell["seconds"]))
        user = self.user if app.service else None
        if user:
            for path in (folder, records):
                os.chown(path, user.uid, user.gid)
        return Trial(
            place=Place(folder, app.workspace.environment, user),
            threads=int(str(cell["threads"])),
            seconds=seconds,
            warm_up=self.setting.warm_up,
            seed=int(str(cell["seed"])) + number,
            patience=PATIENCE_SECONDS + PATIENCE_TIMES * seconds,
            under=under(str(cell["variant"]), self.setting, records),
            together=together,
            counted=self.setting.counted,
            histograms=self.setting.histograms,
            proven=proven,
        )

    def _proven(self, result: Result, cell: Mapping[str, object]) -> bool:
        return str(cell["variant"]) in result.native["in_force"]

    def _answer(
        self, copies: list[Copy], result: Result, threads: int, variant: str
    ) -> dict[str, Any]:
        used, done = Used(), []
        for copy in copies:
            assert copy.answer is not None
            used.add(copy.trial.used)
            done.append(copy.answer)
            if copy.trial.proven:
                result.native["in_force"][variant] = "seen in the program"
        if len(copies) > 1:
            _note_copies([copy.trial for copy in copies], result)
        return combine.together(done, used, threads)


def _run(copies: list[Copy], app: App) -> None:
    """All at once. Whoever interrupts us ends them first."""
    threads = [threading.Thread(target=copy.go, args=[app]) for copy in copies]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        for copy in copies:
            copy.trial.abandon()
        for thread in threads:
            thread.join()
        raise
    errors = [copy.error for copy in copies if copy.error]
    for error in sorted(errors, key=lambda error: isinstance(error, Alone)):
        if isinstance(error, processes.Late | processes.Ended):
            raise Broken(f"{type(error).__name__}: {error}") from error
        raise error


def _note_copies(trials: list[Trial], result: Result) -> None:
    """How much of their counted time all copies had in common: the least of all cells."""
    began = max(trial.span[0] for trial in trials)
    ended = min(trial.span[1] for trial in trials)
    longest = max(trial.span[1] - trial.span[0] for trial in trials)
    share = max(0.0, (ended - began) / max(longest, 1e-9))
    proofs = result.scenario.setdefault("proof", {})
    before = proofs.get("neighbours", {}).get("seen", {}).get("in_common", 1.0)
    least = min(share, before)
    proofs["neighbours"] = {
        "asked": {"copies": len(trials)},
        "seen": {"copies": len(trials), "in_common": least},
        "held": least >= 1 - APART,
        "words": f"{len(trials)} copies at once for at least {least:.0%} of the counted time",
    }


@contextmanager
def ready(setting: Setting) -> Iterator[Rig]:
    """A rig in a folder in memory, which is gone afterwards with all that is in it."""
    user = processes.service_user()
    with scratch() as folder:
        if user:
            folder.chmod(0o711)  # servers reach their own folders in it
        yield Rig(folder, user, setting)
