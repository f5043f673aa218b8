# SPDX-License-Identifier: MIT
"""A program that is none, measured as others are: right, wrong, slow, dead, interrupted."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import pytest

from overlock_tools.apps import app, catalogue, executor, processes
from overlock_tools.apps.trial import Trial
from overlock_tools.cli import main
from overlock_tools.core.model import results
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.model.results import Result
from overlock_tools.run import interpose, live
from tests.command import schema
from tests.processes import HANG_S, gone, read, until

SCHEMA = schema("result")
LOCKS = ("--locks", "tas,tas_yield", "--threads", "2", "--seconds", "0.2", "--warm-up", "0")
Run = Callable[..., int]


class Shell(app.App):
    """A shell that does `script`, and is to print `right`."""

    name = "shell"
    what = "a shell, so many times nothing"
    unit = "times"
    packages = ()
    programs = ("sh",)
    reach = "none"
    overhead_seconds = 0.1
    script: ClassVar[str] = "sleep 0.1; echo done"
    cells: ClassVar[int] = 0
    stop_after: ClassVar[int] = 10**9

    def set_up(self) -> None:
        type(self).cells = 0

    def cell(self, trial: Trial) -> Answer:
        if self.cells == self.stop_after:
            os.kill(os.getpid(), signal.SIGINT)
        type(self).cells += 1
        return trial.pieces(["/bin/sh", "-c", self.script], 1, self._wrong)

    @staticmethod
    def _wrong(outs: list[Path]) -> str:
        return "" if all(out.read_text() == "done\n" for out in outs) else "it is not done"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
    monkeypatch.setitem(catalogue.APPS, Shell.name, Shell)
    monkeypatch.setattr(executor, "PATIENCE_SECONDS", HANG_S)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def go(*words: str) -> int:
        return main.run(["apps", "run", "shell", *LOCKS, "-o", "r", *words])

    made: list[str] = []
    mkdtemp = tempfile.mkdtemp

    def recorded(*args: Any, **options: Any) -> str:
        made.append(mkdtemp(*args, **options))
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", recorded)
    yield go
    assert not [folder for folder in made if Path(folder).exists()]
    assert not [pid for pid in processes.family(os.getpid()) if pid != os.getpid()]


def script(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(Shell, "script", text)


def result() -> Result:
    text = Path("r/shell.json").read_text()
    jsonschema.validate(json.loads(text), SCHEMA)
    return results.from_file(Path("r/shell.json"))


def test_a_result_says_what_locks_could_know(shell: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERLOCK_KNOWLEDGE", "rusage")
    assert shell("--rounds", "1") == 0
    known = result().native["knowledge"]
    assert known["slice_id"] == "rusage"
    assert known["slice_end"] is None


def test_every_round_has_every_lock_and_native(shell: Run) -> None:
    assert shell("--rounds", "2") == 0
    found = result()
    assert found.complete
    cells = sorted((cell.round, cell.variant) for cell in found.cells)
    assert cells == [(n, v) for n in (1, 2) for v in ("native", "tas", "tas_yield")]
    assert all(cell.work >= 2 and not cell.wrong and not cell.cut for cell in found.cells)
    assert set(found.native["in_force"]) == {"tas", "tas_yield"}
    assert found.kind == "program-shell"
    assert found.of_program


def test_wrong_work_is_told(
    shell: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The mutant does its work wrong under a lock, as a broken lock would have it."""
    script(monkeypatch, 'sleep 0.1; [ "$OVERLOCK_LOCK" = tas ] || echo done')
    assert shell("--rounds", "1") == 1
    assert [cell.variant for cell in result().cells if cell.wrong] == ["tas"]
    assert "WRONG: tas with 2 threads: it is not done" in capfd.readouterr().out


def test_a_program_that_dies_is_told_and_the_others_are_measured(
    shell: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    script(monkeypatch, 'sleep 0.1; echo done; [ "$OVERLOCK_LOCK" != tas ] || kill -SEGV $$')
    assert shell("--rounds", "2") == 1
    found = result()
    assert [entry.variant for entry in found.impossible] == ["tas"]
    assert "sh ended with signal 11" in found.impossible[0].why
    assert {cell.variant for cell in found.cells} == {"native", "tas_yield"}
    assert "Not measured: tas with 2 threads" in capfd.readouterr().out


def test_what_takes_too_long_is_cut_and_not_repeated(
    shell: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "PATIENCE_SECONDS", 10)
    monkeypatch.setattr(executor, "PATIENCE_TIMES", 0)
    script(monkeypatch, '[ "$OVERLOCK_LOCK" != tas ] || sleep 60 & wait; sleep 0.1; echo done')
    assert shell("--rounds", "2") == 0
    found = result()
    assert [cell.variant for cell in found.cells if cell.cut] == ["tas"]
    assert len(found.of("tas", 2)) == 1
    assert found.collapsed[0].why.startswith("cut after")


def test_interrupted_it_leaves_what_is_whole_and_completes_it(
    shell: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shell, "stop_after", 4)
    assert shell("--rounds", "3") == 130
    kept = result()
    assert len(kept.cells) == 4
    assert not kept.complete
    monkeypatch.setattr(Shell, "stop_after", 10**9)
    assert shell("--rounds", "3") == 0
    found = result()
    assert found.complete
    assert found.cells[:4] == kept.cells
    assert len({(cell.round, cell.variant) for cell in found.cells}) == len(found.cells) == 9
    assert Shell.cells == 5
    assert shell("--rounds", "3") == 0
    assert result().cells == found.cells


def test_another_plan_does_not_complete_it(shell: Run, capfd: pytest.CaptureFixture[str]) -> None:
    assert shell("--rounds", "1") == 0
    assert shell("--rounds", "2") == 2
    assert "r/shell.json was measured with --rounds 1, not 2" in capfd.readouterr().err


def test_copies_are_at_once_and_say_so(shell: Run) -> None:
    assert shell("--rounds", "1", "--neighbours", "3") == 0
    found = result()
    assert all(len(cell.copies) == 3 for cell in found.cells)
    proof = found.scenario["proof"]["neighbours"]
    assert proof["seen"]["copies"] == 3
    assert 0 < proof["seen"]["in_common"] <= 1
    assert found.cpus_of_its_own == found.cpus / 3


def test_copies_one_after_the_other_are_no_neighbours() -> None:
    one, other = (object.__new__(Trial) for _ in range(2))
    one.span, other.span = (0.0, 1.0), (1.0, 2.0)
    found = object.__new__(Result)
    found.scenario = {}
    executor._note_copies([one, other], found)
    assert not found.scenario["proof"]["neighbours"]["held"]


def test_a_lock_that_does_not_get_in_is_told(shell: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the program's own mutex would be measured under the lock's name."""

    def nowhere(*_library: Path) -> interpose.Prepared:
        return interpose.Prepared("", {"LD_PRELOAD": ""})

    monkeypatch.setattr(interpose, "prepare", nowhere)
    monkeypatch.setattr(processes, "EXEC_SECONDS", 0.05)
    assert shell("--rounds", "1") == 1
    found = result()
    assert {entry.variant for entry in found.impossible} == {"tas", "tas_yield"}
    assert "is not in sh" in found.impossible[0].why


def test_an_outer_run_does_not_reach_the_native_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/x/liboverlock-run.so /y/other.so")
    monkeypatch.setenv("OVERLOCK_LOCK", "ticket")
    monkeypatch.setenv("OVERLOCK_TAU_NS", "5")
    found = executor.base()
    assert found["LD_PRELOAD"] == "/y/other.so"
    assert "OVERLOCK_LOCK" not in found
    assert found["OVERLOCK_TAU_NS"] == "5"


def test_all_that_a_program_leaves_behind_is_ended(tmp_path: Path) -> None:
    place = processes.Place(tmp_path, dict(os.environ))
    command = ["/bin/sh", "-c", "sleep 60 & echo $!; exit 0"]
    process = processes.Process(command, processes.NATIVE, place)
    left = int(process.line(time.monotonic() + HANG_S))
    assert process.ended(HANG_S)
    process.close()
    until(lambda: gone(left))


def test_killed_outright_it_leaves_no_process(tmp_path: Path) -> None:
    """The kernel ends what we started when the thread that did is gone."""
    code = (
        "import os, sys, time; from pathlib import Path; from overlock_tools.apps import processes;"
        "p = processes.Process(['/bin/sleep', '60'], processes.NATIVE,"
        f"processes.Place(Path({str(tmp_path)!r}), dict(os.environ)));"
        "print(p.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as us:
        assert us.stdout is not None
        pid = int(us.stdout.readline())
        until(lambda: read(f"/proc/{pid}/cmdline").startswith("/bin/sleep"))
        us.kill()
        us.wait()
    until(lambda: gone(pid))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("run", "pbzp2"), "unknown program 'pbzp2'; did you mean pbzip2?"),
        (("run", "shell", "--parameter", "x=1"), "shell has no parameter x; its parameters: none"),
        (("run", "shell", "--parameter", "x"), "--parameter x: expected NAME=VALUE"),
        (("run", "shell", "--locks", "tx"), "tx cannot replace a mutex"),
        (("run", "shell", "--locks", "native@tau=0"), "native@tau=0: native has no tunables"),
        (("run", "shell", "--neighbours", "9"), "--neighbours: '9' is not a whole number"),
        (("run", "shell", "--budget", "0.01"), "--budget 0.01: 14 cells per round need about"),
        (("compare", "."), "no results of programs found"),
    ],
)
def test_what_cannot_be_is_one_line(
    shell: Run, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], line: str
) -> None:
    assert main.run(["apps", *words]) == 2
    said = capfd.readouterr().err
    assert said.startswith(f"overlock: {line}")
    assert said.count("\n") == 1


def test_missing_programs_are_named(
    shell: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Shell, "programs", ("no-such-program",))
    monkeypatch.setattr(Shell, "packages", ("no-such-package",))
    assert shell() == 3
    line = "overlock: shell needs no-such-program; install it with `overlock apps install shell`\n"
    assert capfd.readouterr().err == line
    assert main.run(["apps", "install", "shell", "--dry-run"]) == 3
    said = capfd.readouterr().out
    assert "Debian packages: no-such-package" in said
    assert "apt-get -y install --no-install-recommends no-such-package" in said
    assert main.run(["apps", "list"]) == 0
    advice = " ".join(capfd.readouterr().out.split()).rpartition("overlock apps install ")[2]
    assert "shell" in advice.split()  # beside what else is not here


def test_packages_have_other_names_on_newer_releases(
    shell: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """apt knows one of them: PostgreSQL 15 is Debian 12's alone."""
    apt = tmp_path / "apt-cache"
    apt.write_text('#!/bin/sh\ntest "$3" = "$KNOWN"\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(Shell, "programs", ("no-such-program",))
    monkeypatch.setattr(Shell, "packages", ("no-such-15|no-such-17|no-such-18",))
    for known in ("no-such-15", "no-such-17", "no-such-18"):
        monkeypatch.setenv("KNOWN", known)
        assert main.run(["apps", "install", "shell", "--dry-run"]) == 3
        assert capfd.readouterr().out.splitlines()[0] == f"Debian packages: {known}"


def test_the_newest_postgresql_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for version in ("9", "15", "17"):
        program = tmp_path / version / "bin/no-such-postgres"
        program.parent.mkdir(parents=True)
        program.write_text("")
        program.chmod(0o755)
    monkeypatch.setattr(app, "POSTGRESQL", tmp_path)
    assert app.found("no-such-postgres") == str(tmp_path / "17/bin/no-such-postgres")


def test_missing_python_packages_get_a_venv(
    shell: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(Shell, "packages", ("python3-venv",))
    monkeypatch.setattr(Shell, "wheels", ("one==1.0", "two==2.0"))
    assert shell() == 3
    assert capfd.readouterr().err.startswith("overlock: shell needs one==1.0, two==2.0; install it")
    assert main.run(["apps", "install", "shell", "--dry-run"]) == 3
    folder = tmp_path / "overlock/apps/venv-one-1.0-two-2.0"
    assert capfd.readouterr().out.splitlines()[1:] == [
        "apt-get -y install --no-install-recommends python3-venv",
        f"python3 -m venv {folder}",
        f"{folder}/bin/python -m pip install -q one==1.0 two==2.0",
    ]
    for name in ("one-1.0", "two-2.1"):
        (folder / f"lib/python3.11/site-packages/{name}.dist-info").mkdir(parents=True)
    assert Shell.missing() == ["two==2.0"]


def test_a_budget_shortens(shell: Run) -> None:
    assert shell("--rounds", "100", "--budget", "0.25", "--seconds", "0.2") == 0
    assert result().settings["rounds"] < 100


def test_counted_times_are_of_the_counted_time() -> None:
    holds = live.Holds((0, 5, 0, 7))
    assert holds.since(live.Holds((0, 5, 0, 2))).pairs() == [[3, 5]]
    leasts = [live.bucket_least(i) for i in range(10)]
    assert leasts == [0, 1, 2, 3, 4, 6, 8, 12, 16, 24]
