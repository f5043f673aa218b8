# SPDX-License-Identifier: MIT
"""What tools/foreign_locks.py keeps of searches that it can go on with."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TOP

spec = importlib.util.spec_from_file_location("foreign_locks", TOP / "tools/foreign_locks.py")
assert spec
assert spec.loader
table: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)


def one(verdict: str, seconds: float, executions: int = 1, version: str = "1") -> dict[str, Any]:
    return {
        "verdict": verdict,
        "seconds": seconds,
        "executions": executions,
        "version": version,
    }


@pytest.mark.parametrize(
    ("before", "new", "kept"),
    [
        (one("open", 6, 10), one("open", 20, 30), one("open", 20, 30)),
        (one("open", 6, 30), one("open", 20, 10), one("open", 20, 30)),
        (one("open", 6, 30), one("holds", 1, 10), one("holds", 1, 10)),
        (one("fails", 60), one("open", 20), one("fails", 60)),
        (one("fails", 60), one("open", 60), one("open", 60)),
        (one("holds", 60), one("open", 1), one("holds", 60)),
        (one("holds", 60), one("fails", 1), one("fails", 1)),
        (one("holds", 60), one("open", 1, version="2"), one("open", 1, version="2")),
    ],
)
def test_longer_search_is_kept(
    before: dict[str, Any], new: dict[str, Any], kept: dict[str, Any]
) -> None:
    assert table.longer(before, new) == kept


def test_only_what_would_tell_more_is_searched_again() -> None:
    asked = [one("holds", 6), one("open", 6), one("open", 60), one("fails", 60)]
    assert [table.need_not(search, 60) for search in asked] == [True, False, True, False]


def test_larger_size_waits_for_the_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "run", lambda *_: {"": one("holds", 60)})
    asked = {"lock": "mine", "sizes": ["2x1", "2x2", "3x1"]}
    at = {size: table.key("mine", "lock", "", size, "sc") for size in asked["sizes"]}
    for before, new in (("holds", [at["2x2"], at["3x1"]]), ("open", [])):
        search = table.Search({}, 60.0, {at["2x1"]: before})
        assert list(table.checked(asked, "sc", search)) == new


def test_two_that_write_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "FOLDER", tmp_path)
    monkeypatch.setattr(table, "KNOWN", tmp_path / "results.json")
    table.kept({"a": one("open", 6)})
    table.kept({"b": one("holds", 6)})
    known = json.loads((tmp_path / "results.json").read_text())
    assert sorted(known) == ["a", "b"]
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
