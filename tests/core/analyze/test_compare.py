# SPDX-License-Identifier: MIT
"""overlock compare: before and after on a machine that changes, and contenders of one result."""

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from overlock_tools.core.analyze import comparison
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.results import Result
from overlock_tools.core.system.errors import Fail
from tests.command import Overlock

SCHEMA = resources.files("overlock_tools.core").joinpath("schema/comparison.json").read_text()
ROUNDS = 22
MACHINE = {"cpu": "Fast 1", "architecture": "x86_64", "cpus_online": 2, "kernel": "6.1"}
SPEEDS = {"ticket": 1.0, "twa": 1.2, "pthread_mutex": 2.0, "pthread_spin": 1.5}


def measured(seed: int, machine: float = 1.0, rounds: int = ROUNDS, **speeds: float) -> Result:
    """On a machine so many times as fast; noise of 2 %, and of 20 % that a round has in common."""
    draw = np.random.default_rng(seed)
    cells = []
    for r in range(1, rounds + 1):
        for n in (2, 4):
            host = machine * draw.lognormal(0, 0.2)
            for variant, speed in {**SPEEDS, **speeds}.items():
                rate = 1e6 * speed * host * draw.lognormal(0, 0.02)
                cells.append(Cell(r, variant, n, rate, 1.0, 1.0))
    return Result(
        kind="sections",
        title="t",
        unit="acquisitions",
        baseline="ticket",
        command="overlock bench sections --seed 1",
        settings={"cpus": 2, "rounds": rounds, "seconds": 1.0, "turns": None, "counters": False},
        machine=dict(MACHINE),
        native={},
        variants=list(SPEEDS),
        threads=[2, 4],
        peers=["pthread_mutex", "pthread_spin"],
        parameters={"cs": 70, "ncs": 330},
        cells=cells,
        complete=True,
    )


def words(found: comparison.Comparison, variant: str) -> list[str]:
    return [change.words for change in found.changes if change.variant == variant]


def test_a_machine_that_slowed_is_no_change_of_the_locks() -> None:
    found = comparison.compare(measured(1), measured(2, machine=0.7))
    assert found.control == "pthread_mutex"
    for variant in ("ticket", "twa", "pthread_spin"):
        assert words(found, variant) == ["no difference proven"] * 3
    assert [drift.after / drift.before for drift in found.drifts] == pytest.approx(
        [0.7, 0.7], rel=0.3
    )
    assert found.notes == []


def test_a_lock_that_changed_is_found_while_the_machine_changed_as_well() -> None:
    found = comparison.compare(measured(1), measured(2, machine=1.5, twa=1.2 / 1.1, ticket=1.1))
    assert words(found, "twa") == ["slower"] * 3
    assert words(found, "ticket") == ["faster"] * 3
    assert words(found, "pthread_spin") == ["no difference proven"] * 3
    assert [c.threads for c in found.changes if c.variant == "twa"] == [(2,), (4,), (2, 4)]


def test_changes_of_nothing_are_rarely_seen() -> None:
    """Fifteen pairs of runs, three comparisons of two locks each: at most 5 of 100 by right."""
    seen = 0
    for seed in range(15):
        found = comparison.compare(measured(100 + seed), measured(200 + seed, machine=0.8))
        seen += sum(w != "no difference proven" for v in ("ticket", "twa") for w in words(found, v))
    assert seen <= 90 * 0.05


def test_a_peer_that_moved_is_told() -> None:
    found = comparison.compare(measured(1), measured(2, pthread_spin=1.125))
    assert any("pthread_spin, an unchanged peer, moved by 0.7" in note for note in found.notes)


def test_without_peers_the_baseline_is_the_control() -> None:
    before, after = measured(1), measured(2)
    for result in (before, after):
        result.peers = []
    assert comparison.compare(before, after).control == "ticket"
    assert comparison.compare(before, after, control="twa").control == "twa"
    after.baseline = "twa"
    with pytest.raises(Fail, match="share neither a peer nor a baseline"):
        comparison.compare(before, after)
    with pytest.raises(Fail, match="--control mcs: not measured before; no lock is in both"):
        comparison.compare(before, after, control="mcs")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "mutexbench"}, "the workload is sections before and mutexbench after"),
        ({"parameters": {"cs": 99, "ncs": 330}}, "the parameter cs is 70 before and 99 after"),
        ({"machine": {**MACHINE, "cpu": "Slow 2"}}, "cpu is Fast 1 before and Slow 2 after"),
        ({"scenario": {"settings": {"neighbours": "2"}}}, "is none before and neighbours 2 after"),
        ({"settings": {"cpus": 1, "turns": None, "counters": False}}, "setting cpus is 2 before"),
        (
            {"settings": {"cpus": 2, "turns": None, "counters": False, "latency": False}},
            "the setting latency is none before and False after",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(change: dict[str, Any], said: str) -> None:
    with pytest.raises(Fail, match=said):
        comparison.compare(measured(1), replace(measured(2), **change))


def test_another_kernel_is_noted() -> None:
    found = comparison.compare(
        measured(1), replace(measured(2), machine={**MACHINE, "kernel": "6.2"})
    )
    assert found.notes == ["the machine's kernel is 6.1 before and 6.2 after"]


def test_tunables_and_peers_built_anew_are_noted() -> None:
    before, after = measured(1), measured(2)
    before.native, after.native = {"tunables": {"tau": "400"}}, {"tunables": {"tau": "77"}}
    before.settings["plugins"], after.settings["plugins"] = {"ck": "a"}, {"ck": "b"}
    assert comparison.compare(before, after).notes == [
        "the tunable tau is 400 before and 77 after",
        "ck's locks were built anew in between",
    ]


def test_locks_in_one_file_only_are_left_out() -> None:
    before, after = measured(1), measured(2)
    after.variants.remove("twa")
    after.cells = [cell for cell in after.cells if cell.variant != "twa"]
    found = comparison.compare(before, after)
    assert {change.variant for change in found.changes} == {"ticket", "pthread_spin"}
    after.variants = ["pthread_mutex"]
    with pytest.raises(Fail, match="share only pthread_mutex; measure the same locks"):
        comparison.compare(before, after)


@pytest.fixture
def before_and_after(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "before.json", tmp_path / "after.json"
    for path, result in zip(paths, (measured(1), measured(2, 0.7, twa=1.0)), strict=True):
        path.write_text(result.to_json())
    return paths


def test_command_of_two_files(overlock: Overlock, before_and_after: tuple[Path, Path]) -> None:
    done = overlock("compare", *before_and_after, "--json", "found.json")
    assert done.returncode == 0, done.stderr
    assert "The control is pthread_mutex" in done.stdout
    assert "geometric mean over 2, 4 threads, ÷ pthread_mutex" in done.stdout
    body = json.loads((before_and_after[0].parent / "found.json").read_text())
    jsonschema.validate(body, json.loads(SCHEMA))
    assert body["format"] == "overlock-comparison"
    assert {c["words"] for c in body["changes"] if c["variant"] == "twa"} == {"slower"}


def test_exit_code_for_continuous_integration(
    overlock: Overlock, before_and_after: tuple[Path, Path]
) -> None:
    """twa is a sixth slower."""
    fails = overlock("compare", *before_and_after, "--fail-on-regression", "5")
    assert fails.returncode == 1
    assert (
        "regression: twa at 2 threads is significantly slower, by more than 5 %: 0.8"
        in fails.stdout
    )
    passes = overlock("compare", *before_and_after, "--fail-on-regression", "30")
    assert passes.returncode == 0
    assert "No lock is significantly slower by more than 30 %." in passes.stdout


def test_command_of_one_file(overlock: Overlock, before_and_after: tuple[Path, Path]) -> None:
    chosen = ["--variants", "ticket,twa,pthread_spin"]
    done = overlock("compare", before_and_after[0], *chosen, "--json", "found.json")
    assert done.returncode == 0, done.stderr
    assert "\nx ticket\n+ twa\n* pthread_spin\n+---" in done.stdout
    assert "Round by round twa ÷ ticket: 1.2" in done.stdout
    assert done.stdout.count("Stddev") == 2
    body = json.loads((before_and_after[0].parent / "found.json").read_text())
    jsonschema.validate(body, json.loads(SCHEMA))
    pairs = body["pairs"]
    assert [(p["second"], p["threads"]) for p in pairs] == [
        ("twa", 2),
        ("pthread_spin", 2),
        ("twa", 4),
        ("pthread_spin", 4),
    ]
    assert pairs[0]["students_t"]["relative"] == pytest.approx(20, abs=15)


def test_confidence_moves_the_interval(
    overlock: Overlock, before_and_after: tuple[Path, Path]
) -> None:
    widths = []
    for percent in ("80", "99.5"):
        options = ["--variants", "ticket,twa", "--confidence", percent, "--json", "found.json"]
        done = overlock("compare", before_and_after[0], *options)
        assert f"at {percent} %: a significant difference" in done.stdout
        body = json.loads((before_and_after[0].parent / "found.json").read_text())
        widths.append(body["pairs"][0]["ratio"]["high"] - body["pairs"][0]["ratio"]["low"])
    assert widths[0] < widths[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["before.json"], "compare takes two files, or one file with --variants X,Y"),
        (["before.json", "--variants", "ticket"], "--variants takes two contenders or more"),
        (
            ["before.json", "--variants", "a,b"],
            "--variants: a is not in the file; choose from ticket, twa",
        ),
        (
            ["before.json", "--variants", "ticket,twa", "--fail-on-regression", "5"],
            "--control and --fail-on-regression are for two files",
        ),
        (["before.json", "before.json", "--confidence", "96"], "'96' is not one of '80', '90'"),
        (
            ["before.json", "before.json", "--fail-on-regression", "nan"],
            "nan is not in the range from 0 to 100",
        ),
        (["before.json", "none.json"], "none.json cannot be read: No such file or directory"),
    ],
)
def test_refusals(
    overlock: Overlock, before_and_after: tuple[Path, Path], arguments: list[str], said: str
) -> None:
    done = overlock("compare", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_rounds_that_do_not_suffice(overlock: Overlock, tmp_path: Path) -> None:
    (tmp_path / "few.json").write_text(measured(3, rounds=4).to_json())
    done = overlock("compare", "few.json", "--variants", "ticket,twa")
    assert "; an interval at 95 % needs 6 rounds" in done.stdout
    (tmp_path / "two.json").write_text(measured(3, rounds=2).to_json())
    done = overlock("compare", "two.json", "--variants", "ticket,twa")
    assert done.returncode == 2
    assert "nothing to compare: ticket, twa have too few rounds in common" in done.stderr
