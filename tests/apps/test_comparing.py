# SPDX-License-Identifier: MIT
"""What `apps compare` and `apps advise` say of results whose truth is known."""

import json
from pathlib import Path

import pytest

from overlock_tools.apps import comparing
from overlock_tools.apps.comparing import Verdict
from overlock_tools.cli import main
from overlock_tools.core.model.results import Result
from overlock_tools.core.model.stats import Ratio
from overlock_tools.core.system.errors import Fail
from tests.core import planted

RATES = {
    "native": {2: 100.0, 8: 100.0},
    "same": {2: 100.2, 8: 99.9},
    "faster": {2: 120.0, 8: 150.0},
    "slower": {2: 100.0, 8: 80.0},
}
SHIFTED = (0, 3, 6, 1, 4, 7, 2, 5, 8)  # the locks' noise is not native's


def result(*names: str, rounds: int = 9, noise: float = 1.0) -> Result:
    found = planted.result({name: RATES[name] for name in ("native", *names)}, ["native"])
    found.kind = "program-made-up"
    for cell in found.cells:
        place = (cell.round - 1 + SHIFTED[len(cell.variant) % 9]) % len(planted.NOISE)
        cell.work = RATES[cell.variant][cell.threads] * planted.NOISE[place] ** (0.2 * noise)
    found.cells = [cell for cell in found.cells if cell.round <= rounds]
    return found


def verdicts(found: Result, margin: float = 0.05) -> dict[tuple[str, int], Verdict]:
    lines = comparing.lines(found, margin)
    return {(line.variant, line.threads): line.verdict for line in lines}


def test_each_is_called_what_it_is() -> None:
    found = verdicts(result("same", "faster", "slower"))
    assert found == {
        ("same", 2): Verdict.NONE,
        ("same", 8): Verdict.NONE,
        ("faster", 2): Verdict.FASTER,
        ("faster", 8): Verdict.FASTER,
        ("slower", 2): Verdict.NONE,
        ("slower", 8): Verdict.REGRESSION,
    }


def test_no_difference_takes_an_interval_that_says_so() -> None:
    """A mutant that took `none proven` for `no difference` would claim it of each of these."""
    assert comparing.verdict(Ratio(1.0, 0.9, 1.1), 0.05) is Verdict.OPEN
    assert comparing.verdict(Ratio(1.0, None, None), 0.05) is Verdict.FEW
    assert comparing.verdict(Ratio(1.0, 0.94, 1.001), 0.05) is Verdict.OPEN
    assert comparing.verdict(Ratio(1.0, 0.96, 1.04), 0.05) is Verdict.NONE
    assert set(verdicts(result("same", rounds=3)).values()) == {Verdict.FEW}
    assert set(verdicts(result("same", noise=40)).values()) == {Verdict.OPEN}


def test_less_than_the_margin_is_no_regression_and_more_is() -> None:
    slightly = Ratio(0.97, 0.965, 0.975)
    assert comparing.verdict(slightly, 0.05) is Verdict.NONE
    assert comparing.verdict(slightly, 0.02) is Verdict.REGRESSION


def test_what_collapsed_is_no_better_than_a_regression() -> None:
    found = result("same", "slower")
    for cell in found.cells:
        cell.cut = cell.variant == "slower"
    lines = list(comparing.lines(found, 0.05))
    assert {line.verdict for line in lines if line.variant == "slower"} == {Verdict.COLLAPSED}
    (said, fewer) = comparing.sentences(lines, 0.05)
    assert said == "made-up: collapsed: slower; no difference (within 5%): same."
    assert fewer == "Rao & Dunlap 2012 ran 10 rounds; some comparisons here have 9."


def test_the_command_tells_and_fails_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r").mkdir()
    Path("r/made-up.json").write_text(result("faster", "slower").to_json())
    assert main.run(["apps", "compare", "r", "--json", "c.json"]) == 0
    assert "made-up: regression: slower; faster: faster." in capfd.readouterr().out
    lines = json.loads(Path("c.json").read_text())["lines"]
    assert [line["verdict"] for line in lines if line["variant"] == "slower"] == [
        "no difference",
        "regression",
    ]
    assert main.run(["apps", "compare", "r", "--fail-on-regression"]) == 1
    assert main.run(["apps", "advise", "r", "--json", "a.json"]) == 0
    assert json.loads(Path("a.json").read_text())["advice"][0]["lock"] == "faster"


def test_advice() -> None:
    assert comparing.advise(result("faster")).lock == "faster"
    assert comparing.advise(result("same")).lock == "native"
    assert comparing.advise(result("faster", rounds=4)).lock == "native"
    assert comparing.advise(result("slower")).lock == "native"


def test_a_lock_that_is_slower_somewhere_is_not_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faster over all, by its gain at 8 threads: a mutant that looked no further would take it."""
    monkeypatch.setitem(RATES, "mixed", {2: 80.0, 8: 300.0})
    advice = comparing.advise(result("mixed"))
    assert advice.lock == "native"
    assert "but at 2 threads 0.80×" in advice.words


def test_counted_results_are_not_compared(tmp_path: Path) -> None:
    found = result("same")
    found.settings["counters"] = True
    file = tmp_path / "c.json"
    file.write_text(found.to_json())
    with pytest.raises(Fail, match="was measured with --counters"):
        comparing.read([file])
