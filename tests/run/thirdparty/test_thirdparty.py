# SPDX-License-Identifier: MIT
"""How third-party suites are judged: on made-up suites and on a small part of real ones."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.processes import HANG_S
from tests.run.thirdparty import judging, reading, running, suite
from tests.run.thirdparty.judging import Program
from tests.run.thirdparty.running import ENDING, Outcome

HERE = Path(__file__).parent
NOBODY = TOP / "tests/bench/measuring/open_door.h"  # a lock that excludes nobody


def run(*args: str | Path, seconds: float = 10 * HANG_S) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.run.thirdparty.run", *args]
    return subprocess.run(
        [str(word) for word in command],
        cwd=TOP,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=seconds,
        check=False,
    )


def test_tap_is_read() -> None:
    said = """TAP version 13
1..7
ok 1 /mutex/one
not ok 2 /mutex/two
ok 3 /mutex/three # SKIP not here
    ok 1 - inner
not ok 5 - later # TODO
ok 6
ok 7 /queue/random/seed:1431056458
# ok 8 is no test
"""
    assert reading.tap(said, HERE) == {
        "/mutex/one": "passed",
        "/mutex/two": "failed",
        "/mutex/three": "skipped",
        "inner": "passed",
        "later": "skipped",
        "test 6": "passed",
        "/queue/random/seed": "passed",
    }


def test_the_worst_of_one_name_counts() -> None:
    assert reading.tap("not ok 1 a\nok 2 a\n", HERE) == {"a": "failed"}
    assert reading.tap("ok 1 a\nnot ok 2 a\n", HERE) == {"a": "failed"}


def test_junit_is_read(tmp_path: Path) -> None:
    assert reading.junit("", tmp_path) == {}
    (tmp_path / reading.XML).write_text(
        "<testsuites><testsuite><testcase name='fine'/><testcase classname='C' name='bad'>"
        "<failure/></testcase><testcase name='worse'><error/></testcase>"
        "<testcase name='left'><skipped/></testcase><testcase name='off' status='notrun'/>"
        "</testsuite></testsuites>"
    )
    found = reading.junit("", tmp_path)
    assert found == {
        "fine": "passed",
        "C.bad": "failed",
        "worse": "failed",
        "left": "skipped",
        "off": "skipped",
    }
    (tmp_path / reading.XML).write_text("<testsuites><testsui")
    assert reading.junit("", tmp_path) == {}


def outcome(**verdicts: str) -> Outcome:
    return Outcome(verdicts, 0.1, "")


def judged(native: list[Outcome], under: list[Outcome]) -> list[tuple[str, bool]]:
    program = Program("s", "p", {"native": native, "tas": under})
    return [(d.test, d.is_ours) for d in program.differences()]


def test_judging() -> None:
    fine, bad = outcome(a="passed"), outcome(a="failed")
    assert judged([fine], [fine]) == []
    assert judged([bad], [bad]) == []
    assert judged([fine], [bad]) == [("a", True)]
    assert judged([fine], [outcome(a="skipped")]) == [("a", True)]
    assert judged([bad], [fine]) == [("a", True)]
    assert judged([fine], [outcome()]) == [("a", True)]
    assert judged([fine, bad], [bad, fine]) == [("a", False)]
    assert judged([fine, fine], [fine, bad]) == [("a", True)]


def test_what_differs_is_run_again() -> None:
    fine, bad = outcome(a="passed"), outcome(a="failed")
    answers = {"native": [fine] * 4, "tas": [fine], "mcs": [bad, fine, fine, fine]}
    program = Program("s", "p")
    judging.compared(program, ["tas", "mcs"], lambda v: answers[v].pop(0), 3)
    assert answers == {"native": [], "tas": [], "mcs": []}
    (difference,) = program.differences()
    assert (difference.variant, difference.is_ours) == ("mcs", True)
    assert difference.under == Counter(passed=3, failed=1)


MADE_UP = """
[[suite]]
name = "made-up"
what = "shell"
reach = "nothing"
programs = ["fine", "ours", "daemon"]
command = ["sh", "{folder}/../made-up/{program}"]
reads = "tap"
seconds = 300

[[suite]]
name = "stuck"
what = "shell"
reach = "nothing"
programs = ["hangs"]
command = ["sh", "{folder}/../made-up/{program}"]
reads = "tap"
seconds = 10
"""
SCRIPTS = {
    "fine": "echo ok 1 a; echo not ok 2 b",
    "ours": 'echo ok 1 a; [ -n "$OVERLOCK_LOCK" ] && kill -SEGV $$; exit 0',
    "hangs": '[ -z "$OVERLOCK_LOCK" ] || sleep 60; exit 0',
    "daemon": "setsid sleep 61 >/dev/null 2>&1 & echo ok 1 a",
}


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "made-up").mkdir()
    for name, script in SCRIPTS.items():
        (tmp_path / "made-up" / name).write_text(script)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "suites.toml").write_text(MADE_UP)
    return tmp_path / "suites.toml"


def test_end_to_end(made_up: Path, tmp_path: Path) -> None:
    """Failures that are native too are none of ours; a crash and a hang under a lock are."""
    out = tmp_path / "out.json"
    asked = ("--suites", made_up, "--locks", "tas", "--again", "1", "--build", tmp_path)
    done = run(*asked, "--json", out)
    assert done.returncode == 1, done
    document = json.loads(out.read_text())
    assert document["complete"]
    found = {(d["program"], d["variant"], d["test"]) for d in document["differences"]}
    both = ("tas", "tas counted")
    assert found == {(name, lock, ENDING) for name in ("ours", "hangs") for lock in both}
    assert all(d["is_ours"] for d in document["differences"])
    assert "killed by SIGSEGV under tas; 2 × passed natively" in done.stdout
    assert "hung" in done.stdout
    assert done.stdout.count("1 differ") == 4  # two variants of each suite
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("overlock-")]
    ours = subprocess.run(["pgrep", "-f", "^sleep 6[01]$"], capture_output=True, check=False)
    assert not ours.stdout
    done = run(*asked, "--program", "fine")
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_are_one_line(made_up: Path) -> None:
    for args, words in (
        (("--only", "nonsense"), "there are python"),
        (("--locks", "tickt"), "did you mean ticket"),
        (("--program", "nonsense"), "--list"),
        (("--json", made_up.parent / "no" / "where"), "create it first"),
    ):
        done = run(*args)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
        assert words in done.stderr


def test_the_suites_are_well_described() -> None:
    packages = (TOP / "tools/packages.txt").read_text()
    for one in suite.load().values():
        assert one.reads in reading.READERS
        assert set(one.small) <= set(one.programs)
        assert len(set(one.programs)) == len(one.programs)
        assert any("{program}" in word for word in one.command)
    assert "third-party\tlibglib2.0-tests" in packages


SMALL = [name for name, one in suite.load().items() if one.small]
HEALTHY = "tas_yield,pv_preemptable_ticket"


@pytest.mark.parametrize("name", SMALL)
def test_a_small_part_passes_under_locks(name: str, tmp_path: Path) -> None:
    if suite.lacking(suite.load()[name]):
        pytest.skip(f"{name} is not here; make third-party brings it")
    out = tmp_path / "out.json"
    done = run("--small", "--only", name, "--locks", HEALTHY, "--json", out)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = json.loads(out.read_text())["runs"]
    assert sum(one["acquired"] for one in runs) > 1000
    passed = [r for one in runs for r in one["verdicts"][0].values() if r == "passed"]
    assert len(passed) >= 5 * 20


@pytest.mark.skipif(bool(suite.lacking(suite.load()["glib"])), reason="GLib's tests are not here")
def test_a_lock_that_excludes_nobody_is_noticed() -> None:
    """By GLib's; CPython's hang, which takes until they are cut."""
    done = run("--small", "--only", "glib", "--locks", NOBODY, "--again", "0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "DIFFERS: glib: rec-mutex" in done.stdout


def test_nothing_of_ours_is_in_what_runs_natively() -> None:
    (one,) = (s for s in suite.load().values() if s.name == "glib")
    words = running.command(one, "x", "native", Path("/f"), Path("/b"))
    assert "overlock_tools" not in words
    assert os.environ.get("LD_PRELOAD", "").find("liboverlock") < 0
