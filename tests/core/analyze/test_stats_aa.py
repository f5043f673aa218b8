# SPDX-License-Identifier: MIT
"""tools/aa.py: what it counts, and that it measures and leaves nothing behind. How the counts come
out on a quiet machine is for `make aa`, not for a test that shares its machine.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import aa
from aa import Comparison
from overlock_tools.core.model.stats import Ratio
from tests.conftest import TOP
from tests.processes import HANG_S

SAME, FASTER, SLOWER = Ratio(1, 0.99, 1.01), Ratio(1.05, 1.04, 1.06), Ratio(0.95, 0.94, 0.96)


@pytest.mark.parametrize(
    ("equal", "slow", "enough"),
    [
        ([SAME] * 95 + [FASTER] * 5, [SLOWER] * 90 + [SAME] * 10, True),
        ([SAME] * 94 + [SLOWER] * 6, [SLOWER] * 100, False),
        ([SAME] * 100, [SLOWER] * 89 + [SAME] * 11, False),
        ([SAME] * 100, [FASTER] * 100, False),  # found, but on the wrong side
    ],
)
def test_counts(equal: list[Ratio], slow: list[Ratio], enough: bool) -> None:
    found = [Comparison(1, *pair) for pair in zip(equal, slow, strict=True)]
    assert aa.passed(found) is enough


def test_only_the_slow_lock_has_the_loop() -> None:
    with aa.bench(77) as options:
        folder = Path(options[0].partition("=")[2].partition("=")[2]).parent
        texts = {h.stem: h.read_text() for h in folder.glob("*.h")}
    assert not folder.exists()
    assert {name for name, text in texts.items() if "i = 77" in text} == {aa.SLOW}
    assert texts[aa.ONE].replace(aa.ONE, aa.TWO).replace("AA_ONE", "AA_TWO") == texts[aa.TWO]


def test_measures_and_leaves_nothing_behind(tmp_path: Path) -> None:
    small = ["--comparisons", "2", "--rounds", "6", "--seconds", "0.01", "--json", "aa.json"]
    done = subprocess.run(
        [sys.executable, TOP / "tools" / "aa.py", *small],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr  # 1: such short cells do not find 5 %
    assert "all: A/A no difference in " in done.stdout
    assert "of 1 (ratio " in done.stdout  # one comparison with each number of threads
    body = json.loads((tmp_path / "aa.json").read_text())
    assert [c["threads"] for c in body["comparisons"]] == [1, 2]
    assert body["steps"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["aa.json"]
