# SPDX-License-Identifier: MIT
"""overlock bench sweep: which values and locks it takes, what it says of them, what it leaves."""

import json
import os
import random
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from overlock_tools.bench import sweep
from overlock_tools.bench.bench import Asked
from overlock_tools.cli import main
from overlock_tools.core.model import defs, stats
from overlock_tools.core.model.defs import Tunable
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.results import Result
from overlock_tools.core.model.sweep import Sweep
from overlock_tools.core.render import sweep_plot
from tests.command import COMMAND, SHORT, Overlock, schema
from tests.core import planted
from tests.processes import HANG_S

SCHEMA = schema("result")
TAU = defs.load().tunable("tau")
SWEEP = ("bench", "sweep", "tau", "--lock", "preemptable_ticket", "--threads", "2")
VALUES = ["0", "100", "400", "1600", "inf"]


def tunable(unit: str, default: int, least: int, most: int) -> Tunable:
    return Tunable("x", unit, default, least, most, "any", "a test", "nothing")


@pytest.mark.parametrize(
    ("what", "low", "high", "steps", "expected"),
    [
        (tunable("ns", 400, 0, 10**9), 100, 1600, 5, [100, 200, 400, 800, 1600]),
        (tunable("ns", 400, 0, 10**9), 0, 800, 4, [0, 200, 400, 800]),
        (tunable("count", 1, 0, 1), 0, 1, 9, [0, 1]),
        (tunable("count", 1, 1, 8), 1, 8, 4, [1, 2, 4, 8]),
        (tunable("power", 4096, 1, 16384), 1, 16384, 8, [4**i for i in range(8)]),
        (tunable("power", 64, 1, 16384), 32, 128, 9, [32, 64, 128]),
    ],
)
def test_steps_are_of_equal_ratio(
    what: Tunable, low: int, high: int, steps: int, expected: list[int]
) -> None:
    assert sorted(set(sweep.between(what, low, high, steps))) == expected


@pytest.mark.parametrize("name", list(defs.load().tunables))
def test_every_tunable_has_a_sweep_in_its_range(name: str) -> None:
    found = defs.load().tunable(name)
    asked = Asked({"values": None, "low": None, "high": None, "steps": 9}, set())
    values = sweep.values(found, asked)
    assert len(values) > 1
    assert str(found.default) in values
    assert all(found.check(value) == value for value in values)


def test_reads_what_headers_ask_for() -> None:
    headers = {lock: sweep.read_by(sweep._header(lock)) for lock in defs.load().locks}
    assert {"long_term", "wait_slots"} <= headers["twa"]
    assert "tau" in headers["pv_preemptable_ticket"]
    assert not headers["tas"]
    by_run_alone = {"longest_spin"}
    assert set.union(*headers.values()) == set(defs.load().tunables) - by_run_alone


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("tua",), "did you mean tau"),
        (("tau", "--values", "1,-1"), "tau=-1 is not a time in ns from 0 to 1000000000 or inf"),
        (("wait_slots", "--values", "100"), "wait_slots=100 is not a power of two from 1 to 16384"),
        (("tau", "--from", "9", "--to", "9"), "--from must be less than --to"),
        (("tau", "--to", "inf"), "--from and --to must be finite; give inf in --values"),
        (
            ("tau", "--values", "1", "--steps", "4"),
            "--values cannot be combined with --from, --to and --steps",
        ),
        (("tau", "--lock", "mcs"), "mcs does not read tau; preemptable_ticket"),
        (("longest_spin",), "no lock reads longest_spin"),
        (("longest_spin", "--lock", "mcs"), "mcs does not read longest_spin; only `overlock run`"),
        (("tau", "--lock", "mcz"), "unknown lock 'mcz'"),
        (("tau", "--lock", "preemptable_ticket@tau=3"), "the sweep itself sets tau"),
        (("tau", "--workload", "sektions"), "did you mean sections"),
        (("tau", "--parameter", "cs"), "expected NAME=VALUE, as in cs=300"),
        (("tau", "--parameter", "shap=3"), "did you mean shape"),
        (("tau", "-o", "x.pdf"), "expected a name that ends in .png or .svg"),
        (("tau", "-o", "none/x.png"), "the folder none does not exist"),
        (("tau", "--json", "none/x.json"), "the folder none does not exist"),
    ],
)
def test_refuses_in_one_line(
    args: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.run(["bench", "sweep", *args]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_help_has_examples(overlock: Overlock) -> None:
    text = overlock("bench", "sweep", "--help").stdout
    assert text.count("overlock bench sweep ") >= 4
    assert "--baseline" not in text
    assert "overlock bench sweep" in overlock("bench", "--help").stdout


def test_measures_shows_and_draws(overlock: Overlock, tmp_path: Path) -> None:
    files = ("--json", "r.json", "--csv", "r.csv", "-o", "r.png", "-o", "r.svg")
    done = overlock(*SWEEP, "--values", "0,inf", "--parameter", "cs=80", *SHORT, *files)
    assert done.returncode == 0, done.stderr
    body: dict[str, Any] = json.loads((tmp_path / "r.json").read_text())
    jsonschema.validate(body, SCHEMA)
    assert body["variants"] == [f"preemptable_ticket@tau={tau}" for tau in ("0", "400", "inf")]
    assert body["baseline"] == "preemptable_ticket@tau=400"
    assert body["parameters"]["cs"] == 80
    assert body["complete"]
    assert "÷ default" in done.stdout
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    drawn = (tmp_path / "r.svg").read_text()
    assert "tau (ns)" in drawn
    assert "preemptable_ticket, 2 threads" in drawn
    again = overlock(
        *SWEEP, "--values", "0,inf", "--parameter", "cs=80", *SHORT, *files, "--resume"
    )
    assert "complete: nothing is left to measure" in again.stdout


def test_settings_reach_the_lock(overlock: Overlock, tmp_path: Path) -> None:
    """At tau = 0 every waiter goes out of turn, at inf none."""
    hungry = ("--threads", "6", "--parameter", "cs=2000", "--parameter", "ncs=0", "--counters")
    args = ("--values", "0,inf", *hungry, "--rounds", "1", "--seconds", "0.1", "--json", "r.json")
    assert overlock(*SWEEP[:-2], *args).returncode == 0
    cells = json.loads((tmp_path / "r.json").read_text())["cells"]
    timeouts = {cell["variant"].rpartition("=")[2]: cell["events"]["TIMEOUT"] for cell in cells}
    assert timeouts["0"] > 0
    assert timeouts["inf"] == 0


def test_interrupt_keeps_what_is_complete(tmp_path: Path) -> None:
    args = ("--values", "0", "--rounds", "10000", "--seconds", "0.02", "--json", "r.json")
    child = subprocess.Popen(
        [*COMMAND, *SWEEP, *args, "-o", "r.svg"],
        cwd=tmp_path,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert any("round 2 of" in line for line in child.stdout)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=HANG_S)
    assert (child.returncode, err) == (130, "")
    assert "cells are complete and kept" in out
    assert len(json.loads((tmp_path / "r.json").read_text())["cells"]) >= 4
    assert (tmp_path / "r.svg").exists()


# What it says


def planned(values: list[str]) -> Sweep:
    return Sweep(TAU, values, ["preemptable_ticket"])


def made_up(rates: dict[str, float], noise: float, rounds: int, seed: int) -> Result:
    """A machine whose phases hit all alike, and each cell a little by itself."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    plan = planned(list(rates))
    found = planted.result({plan.variant(plan.locks[0], v): {8: r} for v, r in rates.items()}, [])
    phases = [chance.gauss(1, 0.1) for _ in range(rounds)]
    found.settings |= {"rounds": rounds, "seed": seed}
    found.cells = [
        Cell(i + 1, plan.variant(plan.locks[0], v), 8, r * phase * chance.gauss(1, noise), 1.0, 1.0)
        for i, phase in enumerate(phases)
        for v, r in rates.items()
    ]
    return found


def test_finds_a_value_that_is_better() -> None:
    rates = dict.fromkeys(VALUES, 1e6) | {"1600": 1.3e6}
    (line,) = sweep.findings(planned(VALUES), made_up(rates, 0.02, 22, 1))
    assert line.startswith("preemptable_ticket with 8 threads: tau=1600 is best: 1.3")
    assert "no significant difference" not in line


def test_says_that_the_default_is_best() -> None:
    rates = dict.fromkeys(VALUES, 1e6) | {"400": 1.3e6}
    (line,) = sweep.findings(planned(VALUES), made_up(rates, 0.02, 22, 1))
    assert "no value of tau is better than the default, 400" in line


def claimed() -> float:
    """By how much the best of sixty equal values is said to beat the default, on average."""
    alike = dict.fromkeys(map(str, range(100, 700, 10)), 1e6)
    plan = planned(list(alike))
    told = [next(sweep.findings(plan, made_up(alike, 0.1, 22, seed))) for seed in range(40)]
    found = [re.search(r"(?:is best|highest rate): ([\d.]+)×", line) for line in told]
    return stats.median([float(match[1]) for match in found if match])


def test_the_best_of_equals_is_no_better() -> None:
    assert claimed() == pytest.approx(1, abs=0.03)


def test_mutant_that_judges_by_the_rounds_that_chose_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "halves", lambda ours: (ours, ours))
    assert claimed() > 1.05


def test_picture_has_a_place_for_every_value() -> None:
    places = sweep_plot.positions(VALUES)
    assert list(places) == VALUES
    assert sorted(places.values()) == list(places.values())
    assert places["400"] - places["100"] == pytest.approx(places["1600"] - places["400"])


def test_picture_of_what_was_interrupted() -> None:
    found = made_up(dict.fromkeys(VALUES, 1e6), 0.05, 1, 1)
    found.cells = found.cells[:2]
    assert sweep_plot.figure(planned(VALUES), found)
    assert stats.median(found.rates("preemptable_ticket@tau=100", 8)) > 0
    assert not list(sweep.findings(planned(VALUES), found))
