# SPDX-License-Identifier: MIT
"""Bad input: one line that says what was wrong and what to do, a documented exit code, no trace."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import SHORT, Overlock

SECTIONS = ("bench", "sections")
GUEST = ("guest", "sched")

USAGE = [
    (("lokcs",), r"no command lokcs \(did you mean locks\?\)"),
    (("--frobnicate",), r"No such option.*--help"),
    (("bench", "sectoins"), r"sectoins.*--help"),
    ((*SECTIONS, "--locks", "tiket"), r"unknown lock 'tiket'; did you mean ticket\?"),
    ((*SECTIONS, "--locks", "nosuch"), r"unknown lock 'nosuch'; `overlock locks` lists them"),
    ((*SECTIONS, "--locks", "qqqqqqq"), r"unknown lock 'qqqqqqq'; `overlock locks` lists them"),
    ((*SECTIONS, "--locks", ","), r"names no lock"),
    ((*SECTIONS, "--locks", "ticket@tau"), r"NAME=VALUE"),
    ((*SECTIONS, "--locks", "ticket@tua=3"), r"unknown tunable 'tua'; did you mean tau\?"),
    ((*SECTIONS, "--locks", "preemptable_ticket@tau=-3"), r"tau=-3 is not a time in ns from 0"),
    ((*SECTIONS, "--locks", "preemptable_ticket@tau=1e3"), r"tau=1e3 is not a time"),
    ((*SECTIONS, "--locks", "preemptable_ticket@tau=9999999999"), r"to 1000000000 or inf"),
    ((*SECTIONS, "--locks", "preemptable_ticket@tau=²"), r"tau=² is not a time"),
    ((*SECTIONS, "--locks", "twa@long_term=inf"), r"long_term=inf is not a number"),
    ((*SECTIONS, "--threads", "0"), r"--threads 0: expected 1 to 10000"),
    ((*SECTIONS, "--threads", "4,-8"), r"'-8' is neither a number nor a multiple"),
    ((*SECTIONS, "--threads", "99999999999999999999"), r"expected 1 to 10000"),
    ((*SECTIONS, "--threads", "2y"), r"neither a number"),
    ((*SECTIONS, "--threads", ""), r"expected 1 to 10000"),
    ((*SECTIONS, "--rounds", "0"), r"--rounds"),
    ((*SECTIONS, "--seconds", "nan"), r"--seconds"),
    ((*SECTIONS, "--seconds", "1e9"), r"--seconds"),
    ((*SECTIONS, "--cs-ns", "-1"), r"--cs-ns.*range"),
    ((*SECTIONS, "--ncs-ns", "nan"), r"--ncs-ns.*range"),
    ((*SECTIONS, "--cpus", "4096"), r"--cpus 4096: this process may use only"),
    ((*SECTIONS, "--baseline", "tikcet"), r"unknown lock 'tikcet'; did you mean ticket\?"),
    ((*SECTIONS, "--json", "nowhere/x.json"), r"nowhere/x.json cannot be written: the folder"),
    ((*SECTIONS, "--json", "."), r"is a folder; give a file"),
    (("locks", "--header"), r"'--header' requires an argument; see `overlock locks --help`"),
    ((*SECTIONS, "--lock", "./mine.h"), r"mine.h does not exist"),
    (("report", "absent.json", "-o", "r.html"), r"absent.json cannot be read: No such file"),
    (("report", "bad.json", "-o", "r.html"), r"bad.json is not a result of overlock bench"),
    (("report", "other.json", "-o", "r.html"), r"other.json is not a result of overlock bench"),
    (("report", "newer.json", "-o", "r.html"), r"the version is 3, expected 2"),
    (("report", "bad.json"), r"nothing to write"),
    (("report", "bad.json", "-o", "nowhere/r.html"), r"nowhere does not exist"),
    (("report",), r"FILE"),
    (("demo", "-o", "nowhere/r.html"), r"nowhere does not exist"),
    (("demo", "--keep", "nowhere"), r"the folder does not exist"),
    (("demo", "--rounds", "0"), r"--rounds"),
    (("completion", "tcsh"), r"tcsh"),
    ((*GUEST, "--program", "deferring@99"), r"deferring@N, beside N = 1 to 64 processes"),
    ((*GUEST, "--program", "mutexes@ticket"), r"mutexes@N, beside N = 1 to 64 processes"),
    ((*GUEST, "--program", "openmp@2"), r"openmp takes no @"),
    ((*GUEST, "--program", "ebizzy@nosuch"), r"unknown lock 'nosuch'"),
    ((*GUEST, "--program", "guest@nosuch"), r"unknown 4-byte lock 'nosuch'"),
    ((*GUEST, "--program", "nosuch"), r"--program nosuch: expected mutexes"),
    ((*GUEST, "--program", ""), r"--program '': it names nothing"),
    ((*GUEST, "--lock", ","), r"--lock ',': it names nothing"),
    ((*GUEST, "--lock", "nosuch"), r"unknown lock 'nosuch'.*ticket_told"),
    ((*GUEST, "--under", "shed"), r"--under shed: expected kernel, plain, or sched"),
    ((*GUEST, "--threads", "0"), r"--threads 0: expected numbers from 1 to 1024"),
    ((*GUEST, "--json", "nowhere/x.json"), r"nowhere/x.json cannot be written: the folder"),
]


@pytest.fixture
def files(tmp_path: Path) -> set[str]:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "other.json").write_text("[1, 2]")
    (tmp_path / "newer.json").write_text('{"format": "overlock-result", "version": 3}')
    return {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(("args", "pattern"), USAGE, ids=lambda value: str(value)[-40:])
def test_bad_usage(
    overlock: Overlock, tmp_path: Path, files: set[str], args: tuple[str, ...], pattern: str
) -> None:
    done = overlock(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.match(r"overlock: [^\n]+\n\Z", done.stderr), done.stderr
    assert re.search(pattern, done.stderr), done.stderr
    assert {path.name for path in tmp_path.iterdir()} == files


@pytest.mark.parametrize("args", [("locks",), SECTIONS])
def test_not_built(overlock: Overlock, tmp_path: Path, args: tuple[str, ...]) -> None:
    done = overlock(*args, OVERLOCK_NATIVE=str(tmp_path))
    assert done.returncode == 3
    assert re.match(r"overlock: OVERLOCK_NATIVE=.* has no defs.json; [^\n]+\n\Z", done.stderr)


def test_nonsense_in_the_environment_is_refused_by_the_library(overlock: Overlock) -> None:
    done = overlock(*SECTIONS, "--locks", "tas", "--threads", "1", *SHORT, OVERLOCK_TAU_NS="soon")
    assert "overlock: OVERLOCK_TAU_NS=soon ignored: expected a time" in done.stderr


def test_output_that_becomes_unwritable_leaves_nothing(tmp_path: Path) -> None:
    """The rename fails, as on a file system that fills up: no temporary file stays."""
    script = (
        "import os, sys; from pathlib import Path; from overlock_tools.core.system import files\n"
        "def full(*_): raise OSError(28, 'No space left on device')\n"
        "os.replace = full\n"
        "try: files.write(Path(sys.argv[1]), 'x')\n"
        "except files.Fail as error: print(error.message)\n"
    )
    target = tmp_path / "out.json"
    done = subprocess.run(
        [sys.executable, "-c", script, target], capture_output=True, text=True, check=True
    )
    assert (
        done.stdout
        == f"{target} cannot be written: No space left on device; choose another place\n"
    )
    assert list(tmp_path.iterdir()) == []
