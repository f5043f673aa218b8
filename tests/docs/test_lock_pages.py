# SPDX-License-Identifier: MIT
"""Every lock has a page by hand, and the site adds the numbers that were measured."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import lock_pages
import measured
from overlock_tools.core.model import defs
from tests.conftest import TOP

LOCKS = defs.load().locks
HOW = "begin docs/locks/{0}.md as the others are"

RATES = {
    "ticket": {"1": 9e6, "2": 5e6, "8": 150.0},
    "tas": {"1": 9e6, "2": 4e6, "8": 2e6},
    "tas_yield": {"1": 9e6, "2": 8e6, "8": 4e6},
}
RESULT = {
    "command": "overlock bench sections --threads 1,2,8",
    "machine": "a CPU, Linux 6",
    "cpus": 2,
    "rounds": 9,
    "threads": [1, 2, 8],
    "rates": {
        lock: {n: {"median": r, "least": r / 2, "most": 2 * r} for n, r in rates.items()}
        for lock, rates in RATES.items()
    },
}


def page(lock: str) -> Path:
    return TOP / f"docs/locks/{lock}.md"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_lock_has_a_page(lock: str) -> None:
    assert page(lock).exists(), HOW.format(lock)
    text = page(lock).read_text()
    assert text.startswith(f"# {lock}\n")
    assert f"(../../include/overlock/lock/{lock}.h)" in text
    assert "\n## When to use it\n\n" in text


def test_no_page_is_of_a_lock_that_is_none() -> None:
    assert {path.stem for path in page("x").parent.glob("*.md")} <= set(LOCKS)


def test_no_number_is_invented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "load", lambda: measured.Measured(RESULT))
    text = lock_pages.rates(LOCKS["tas"])
    assert "| threads | per CPU | `tas` | `tas_yield` | `ticket` |" in text
    assert "| 8 | 4× | 2 M | 4 M | 150 |" in text
    assert str(RESULT["command"]) in text
    assert "did not have this one yet" in lock_pages.rates(LOCKS["mcs"])
    monkeypatch.setattr(measured, "load", lambda: None)
    assert "did not have this one yet" in lock_pages.rates(LOCKS["tas"])


def test_picture_has_the_lock_beside_the_others() -> None:
    drawn = measured.draw(measured.Measured(RESULT), "ticket")
    assert drawn.count("<polyline") == 2  # itself, and tas_yield
    assert measured.draw(measured.Measured(RESULT), "tas").count("<polyline") == 3
    assert ">150<" not in drawn
    assert ">100<" in drawn


def test_page_has_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "load", lambda: measured.Measured(RESULT))
    rates = f"{lock_pages.RATES.format('tas')}\n{lock_pages.rates(LOCKS['tas'])}<!-- end -->\n"
    written = "# tas\n\n[a](b.md)\n\n## When to use it\n\nNow.\n\n## Measured\n\nOn a Tuesday.\n\n"
    text = lock_pages.page(LOCKS["tas"], written + rates, "<svg aria-label='a hand-over'>")
    headings = ["When to use it", "Header comment", "A hand-over", "Measured"]
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == headings
    assert text.startswith("# tas\n\nTest-and-set")
    assert "![a hand-over](../img/locks/tas.svg)" in text
    parts = [text.index(part) for part in ("On a Tuesday.", "tas-rate.svg", "| threads |")]
    assert parts == sorted(parts)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_page_has_the_rates_of_its_lock(lock: str) -> None:
    """Below its heading, not only on the site."""
    text = page(lock).read_text()
    below = text[text.index("\n## Measured\n") :]
    assert f"{lock_pages.RATES.format(lock)}\n" in below
    known = measured.load()
    assert known
    assert ("| threads | per CPU |" in below) == (lock in known.locks)


def test_a_result_becomes_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = tmp_path / "result.json"
    command = ["bench", "sections", "--locks=tas,ticket", "--baseline=tas", "--threads=1,2"]
    command += ["--rounds=2", "--seconds=0.01", f"--json={result}"]
    subprocess.run(
        [sys.executable, "-m", "overlock_tools", *command],
        capture_output=True,
        check=True,
    )
    monkeypatch.setattr(measured, "FILE", tmp_path / "measured.json")
    monkeypatch.setattr(sys, "argv", ["measured.py", str(result)])
    measured.load.cache_clear()
    measured.main()
    assert lock_pages.rates(LOCKS["tas"]).count("\n| ") == 3
    assert measured.FILE.stat().st_size < result.stat().st_size / 3
    measured.load.cache_clear()
