# SPDX-License-Identifier: MIT
"""The survey of programs: every row has a source, and the tables say what was read and measured."""

import json
import re
from pathlib import Path

import pytest

import survey
from overlock_tools.apps.catalogue import APPS
from overlock_tools.core.model.results import Result
from overlock_tools.core.system.errors import Fail
from tests.conftest import TOP
from tests.core import planted

LEAST = 25  # programs
RIGHT = """
[[program]]
id = "one"
name = "One"
kind = "proxy"
waits = "queue"
fifo = true
lock = "ticket lock"
how = "PAUSE"
served = "source"
apps = ["haproxy"]
[[program.read]]
repo = "one/one"
commit = "0123456789012345678901234567890123456789"
path = "src/lock.h"
"""


def test_there_are_many_and_each_has_a_source() -> None:
    there = survey.programs().values()
    assert len({one.read[0].repo for one in there}) >= LEAST
    assert {one.waits for one in there} == set(survey.WAITS)
    assert all(source.link for one in there for source in one.read)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (RIGHT.partition("[[program.read]]")[2], "", "one: .*path"),
        ("[[program.read]]" + RIGHT.partition("[[program.read]]")[2], "", "one: has no source"),
        ('repo = "one/one"\n', "", "names not one of repo, package and url"),
        ("0123456789", "01", "not 40 hexadecimal digits"),
        (re.findall("commit.*\n", RIGHT)[0], "", "has not one of commit and version"),
        ('"proxy"', '"prxy"', "kind is 'prxy', not one of MPI"),
        ('"source"', '"sauce"', "served is 'sauce', not one of run"),
        ("fifo = true", "fifo = false", "not in the order of arrival"),
        ('"haproxy"', '"haprxy"', "haprxy is no program of `overlock apps list`"),
        ('how = "PAUSE"\n', "", "one: .*'how'"),
        ("fifo = true", "fifo = true\nfoo = 1", "one: .*'foo'"),
    ],
)
def test_a_row_without_what_it_needs_is_refused(old: str, new: str, said: str) -> None:
    assert old in RIGHT
    with pytest.raises(Fail, match=said):
        survey.parse(RIGHT.replace(old, new))


def test_no_program_is_there_twice() -> None:
    assert list(survey.parse(RIGHT)) == ["one"]
    with pytest.raises(Fail, match="two programs one"):
        survey.parse(RIGHT + RIGHT)


def test_sources_are_linked_to_what_was_read() -> None:
    source = survey.parse(RIGHT)["one"].read[0]
    commit = "0123456789012345678901234567890123456789"
    assert source.link == f"[lock.h](https://github.com/one/one/blob/{commit}/src/lock.h)"
    debian = survey.Source("a/b.h", package="one", version="1-2")
    assert debian.link == "[b.h](https://sources.debian.org/src/one/1-2/a/b.h)"


def test_the_free_remedy_comes_first() -> None:
    row = RIGHT.replace('apps = ["haproxy"]', 'free = "fewer threads"')
    assert survey.parse(row)["one"].remedy == "fewer threads; else a change of its source"
    nothing = row.replace('"source"', '"none"')
    assert survey.parse(nothing)["one"].remedy == "fewer threads"


def test_every_program_is_in_one_table_and_counted() -> None:
    tables = [survey.waiting(waits) for waits in survey.WAITS]
    for one in survey.programs().values():
        assert sum(f"| {one.kind}: {one.name} |" in table for table in tables) == 1
    counted = re.findall(r"\) \| (\d+) \|", survey.counts())
    assert sum(map(int, counted)) == len(survey.programs())
    assert [table.count("\n") - 2 for table in tables] == list(map(int, counted))


def result(**scenario: str) -> Result:
    rates = {"native": {2: 1000.0, 8: 500.0, 16: 250.0}, "tas_yield": {2: 900.0, 8: 900.0}}
    found = planted.result(rates, ["native"], "program-haproxy")
    for cell in found.cells:
        cell.cpu_seconds = 2.0
    found.scenario = {"settings": scenario} if scenario else {}
    return found


def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *results: Result) -> str:
    """The table, of what main() made of results."""
    monkeypatch.setattr(survey, "FILE", tmp_path / "survey.json")
    for number, one in enumerate(results):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "haproxy.json").write_text(one.to_json())
        monkeypatch.setattr("sys.argv", ["survey.py", str(folder)])
        survey.numbers.cache_clear()
        survey.main()
    survey.numbers.cache_clear()
    try:
        return survey.measured()
    finally:
        survey.numbers.cache_clear()


def test_numbers_are_relative_to_the_fewest_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = written(tmp_path, monkeypatch, result(), result(neighbours="4"), result(quota="1"))
    assert "| `haproxy` | alone | `native` | 1 k/s | 0.50× (0.50 – 0.50) | 0.25× " in table
    assert "| `haproxy` | alone | `tas_yield` | 900/s | 1.00× (1.00 – 1.00) | · | · |" in table
    assert table.count("| 4 copies |") == table.count("| CPU quota 1 |") == 2
    kept = json.loads((tmp_path / "survey.json").read_text())["haproxy"]
    assert kept["rates"]["alone"]["native"]["8"]["cpu"] == 4  # as much time for a quarter


def test_a_situation_that_did_not_hold_is_named() -> None:
    assert survey.situation(result()) == "alone"
    one = result(quota="1")
    one.scenario["proof"] = {"quota": {"held": True}}
    assert survey.situation(one) == "CPU quota 1"
    one.scenario["proof"]["quota"]["held"] = False
    assert survey.situation(one) == "CPU quota 1, quota was not in force"


def test_what_was_not_measured_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = written(tmp_path, monkeypatch)
    for app in survey.apps():
        assert f"| `{app}` | not measured yet |" in table
    table = written(tmp_path, monkeypatch, result())
    assert "| `haproxy` | not measured yet |" not in table


def test_make_measures_what_the_table_has(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of which one is not installed."""
    for name in survey.apps():
        there = "no-such-program" if name == "haproxy" else "sh"
        monkeypatch.setattr(APPS[name], "programs", (there,))
    monkeypatch.setattr("sys.argv", ["survey.py", "--apps"])
    survey.main()
    said = capsys.readouterr().out.split()
    assert said == [name for name in survey.apps() if name != "haproxy"]
    assert len(said) >= 3
    assert "tools/survey.py --apps" in (TOP / "Makefile").read_text()


def test_commands_that_differ_in_the_program_are_told_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [f"overlock apps run {name} -o x{more}" for more in ("", " --quota 1") for name in "ab"]
    found = {"a": {"runs": {"here": lines[::2]}}, "b": {"runs": {"here": lines[1::2]}}}
    monkeypatch.setattr(survey, "numbers", lambda: found)
    assert survey.commands().splitlines() == [
        "On here:",
        "",
        "    overlock apps run a b -o x",
        "    overlock apps run a b -o x --quota 1",
    ]


def test_copies_that_did_not_all_run_at_once_are_told() -> None:
    one = result(neighbours="4")
    one.scenario["proof"] = {"neighbours": {"held": False}}
    assert survey.situation(one) == "4 copies, not always all at once"
