# SPDX-License-Identifier: MIT
"""The checks on newer releases: what is read of them, what is kept, and what is run again."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import newest as tables
from tests.newest import run as newest  # also puts tools/ on the path

JUNIT = """<testsuites><testsuite>
<testcase classname="tests.run.a" name="fine"><properties>
<property name="rayon" value="1.2"/></properties></testcase>
<testcase classname="tests.run.a" name="bad">
<failure message="assert 1 == 2&#10;more">x</failure></testcase>
<testcase classname="tests.run.a" name="worse"><error message="boom"/></testcase>
<testcase classname="tests.run.a" name="left"><skipped message="no gdb"/></testcase>
</testsuite></testsuites>"""


def test_a_report_of_pytest_is_counted_and_the_first_failure_kept(tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text(JUNIT)
    assert newest.counted(tmp_path / "r.xml") == {
        "passed": 1,
        "failed": 2,
        "skipped": 1,
        "got": {"rayon": "1.2"},
        "first_failed": "a::bad: assert 1 == 2",
        "first_skipped": "a::left: no gdb",
    }


def test_a_cell() -> None:
    assert tables.shown({"passed": 1200, "failed": 1, "seconds": 9}) == "1,200 passed, 1 failed"
    assert tables.shown({"passed": 1, "commit": "abc"}) == "1 passed (abc)"
    assert tables.shown({tables.REFUSED: "no root"}) == "not run: no root"
    assert tables.shown(None) == "not run yet"


def test_what_is_done_at_this_commit_is_not_done_again() -> None:
    """What was never done comes first; what could not be run counts as that."""
    checks = {"spins": {"passed": 1, "commit": "a"}, "doctor": {tables.REFUSED: "no root"}}
    names = ["spins", "doctor", "openmp"]
    assert newest.wanted(checks, names, "a", again=False) == ["doctor", "openmp"]
    assert newest.wanted(checks, names, "b", again=False) == ["doctor", "openmp", "spins"]
    assert newest.wanted(checks, names, "a", again=True) == ["doctor", "openmp", "spins"]


def test_a_release_that_cannot_be_had_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(release: str) -> newest.Place:
        raise RuntimeError(f"no {release} here")

    monkeypatch.setattr(newest, "prepared", refused)
    for module in (newest, tables):
        monkeypatch.setattr(module, "FILE", tmp_path / "newest.json")
    known = {"passed": 3, "commit": "an earlier one"}
    newest.save("sid", {"versions": {}, "checks": {"openmp": known}})
    assert newest.on_release("sid", ["openmp", "spins"], again=False)
    checks = tables.load()["sid"]["checks"]
    assert checks == {"openmp": known, "spins": {tables.REFUSED: "no sid here"}}


def test_a_program_that_does_not_run_is_said_and_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = subprocess.CompletedProcess("", 0, "knot: knotd did not start: no socket\n", "")
    monkeypatch.setattr(newest, "TOP", tmp_path)
    monkeypatch.setattr(newest.Place, "inside", lambda *_: said)
    place = newest.Place("bookworm", None, tmp_path)
    assert newest.checked(place, newest.COMMANDS["survey"]) == {
        "passed": 0,
        "failed": 1,
        "first_failed": "knot: knotd did not start: no socket",
        "measured": {},
        "seconds": 0,
    }


def test_the_ratio_of_a_program_and_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tables, "FILE", tmp_path / "newest.json")
    rates = {
        "native": {"rate": 9.0, "4": {"ratio": 0.5, "interval": [0.25, 0.75]}},
        "tas_yield": {"rate": 9.0, "4": {"why": "too slow"}},
    }
    measured = {"knot": {"versions": {"dnsperf": "2", "knot": "3.5.6-1"}, "rates": rates}}
    known = {"sid": {"versions": {}, "checks": {"survey": {"measured": measured}}}}
    (tmp_path / "newest.json").write_text(json.dumps(known))
    lines = tables.survey_table().splitlines()[2:]
    assert lines == [
        "| `knot`, `native` | · | · | 0.50× (0.25 – 0.75); knot 3.5.6-1 |",
        "| `knot`, `tas_yield` | · | · | too slow |",
    ]


def test_each_check_is_kept_as_soon_as_it_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As Ctrl-C leaves them."""

    def stops_at_the_second(_: newest.Place, check: newest.Check) -> dict[str, Any]:
        if check is newest.COMMANDS["openmp"]:
            raise KeyboardInterrupt
        return {"passed": 3}

    monkeypatch.setattr(newest, "prepared", lambda name: newest.Place(name, None, tmp_path))
    monkeypatch.setattr(newest, "versions", lambda _: {"glibc": "2.43"})
    monkeypatch.setattr(newest, "commit", lambda: "b")
    monkeypatch.setattr(newest, "checked", stops_at_the_second)
    for module in (newest, tables):
        monkeypatch.setattr(module, "FILE", tmp_path / "newest.json")
    earlier = {"passed": 2, "commit": "a"}
    newest.save("sid", {"versions": {}, "checks": {"spins": earlier, "openmp": earlier}})
    newest.save("trixie", {"versions": {}, "checks": {"openmp": earlier}})
    with pytest.raises(KeyboardInterrupt):
        newest.on_release("sid", ["spins", "openmp"], again=False)
    assert tables.load()["trixie"]["checks"] == {"openmp": earlier}
    checks = tables.load()["sid"]["checks"]
    assert (checks["spins"]["passed"], checks["spins"]["commit"]) == (3, "b")
    assert checks["openmp"] == earlier
    assert tables.version_rows(tables.load())[0] == ["glibc", "-", "-", "2.43"]


def test_a_compiler_of_a_root_leaves_objects_and_static_programs_alone(tmp_path: Path) -> None:
    """Only a program that is linked dynamically has a loader to be told of."""
    script = newest.COMPILER.format(root="/r", name="gcc")
    file = tmp_path / "gcc"
    file.write_text(script.replace("exec chroot", "echo"))

    def said(*words: str) -> str:
        return subprocess.run(
            ["bash", file, *words], capture_output=True, text=True, check=True
        ).stdout

    assert "--dynamic-linker=/r/lib64/" in said("a.c", "-o", "a")
    for word in ("-c", "-static", "--version"):
        assert "--dynamic-linker" not in said(word, "a.c")
