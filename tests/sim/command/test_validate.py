# SPDX-License-Identifier: MIT
"""Calibration from several measurements; verdicts on points whose rates are known."""

import json
import os
import signal
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.sim import native_points
from overlock_tools.sim.native_points import Compared, Kind
from tests.conftest import TOP
from tests.processes import HANG_S, until
from tests.sim.command.conftest import Fake

MEASURED = TOP / "docs/measured/validation.json"
COSTS = """\
#!{python}
import json, pathlib
counter = pathlib.Path({counter!r})
number = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(number + 1))
ns = [9, 2, 4][number % 3]  # median 4
told = dict.fromkeys(("hit", "store", "atomic", "clock", "pause", "memory", "yield", "change"), ns)
told |= {{"kick_idle": 100, "wake": 50, "slept": 10 * ns, "pairs": {pairs}}}
print(json.dumps(told))
"""
PLAN = """\
[judged]
within = 1.5
known = 1.1
steady = 2.0
low = 100_000
collapsed = 0.1
right = 0.95
held_out = 3
[native]
rounds = 2
seconds = 0.01
[simulated]
seconds = 0.01
warm_up = 0
seeds = 2
calibrations = 1
[[series]]
name = "short"
locks = ["tas", "ticket", "mcs"]
threads = [1, 4]
cs_ns = 70
ncs_ns = 330
"""


@pytest.fixture(autouse=True)
def _small_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.setattr(native_points, "PLAN", tmp_path / "plan.toml")


def with_costs(fake: Fake, pairs: list[dict[str, Any]]) -> None:
    program = fake.native / "overlock-costs"
    counter = str(fake.folder / "counter")
    program.write_text(COSTS.format(python=sys.executable, counter=counter, pairs=pairs))
    program.chmod(0o755)


def test_costs_are_medians_with_their_sources(fake: Fake) -> None:
    with_costs(fake, [{"cpus": [0, 1], "one_way": 24}])
    assert fake("calibrate", "--runs", "3", "-o", "m.toml", "--title", "mine").returncode == 0
    found = tomllib.loads((fake.folder / "m.toml").read_text())
    costs = {name: cost["ns"] for name, cost in found["costs"].items()}
    assert (found["title"], found["cpus"]) == ("mine", len(os.sched_getaffinity(0)))
    assert (costs["hit"], costs["wake"]) == (4, 50)
    assert (costs["kick"], costs["sleep"], costs["interrupt"]) == (18, 18, 82)
    assert costs["near"] == 10
    assert (found["costs"]["hit"]["range"], found["costs"]["near"]["range"]) == ([2, 9], [7.5, 11])
    assert all(
        c["source"].startswith("measured by overlock-costs") for c in found["costs"].values()
    )
    told = fake.told("collapse", "--set", "machine=./m.toml")[0]["machine"]["costs"]
    assert (told["hit"], told["far"]) == (4, 60)


def test_without_output_the_file_is_all_that_is_printed(fake: Fake) -> None:
    with_costs(fake, [])
    assert tomllib.loads(fake("calibrate", "--runs", "1").stdout)["costs"]["hit"]["ns"] == 9


def natives(fake: Fake, rates: dict[str, list[float]]) -> Path:
    """As an earlier validation left it."""
    kept = json.loads(MEASURED.read_text())
    kept["points"] = [{"point": name, "native": of} for name, of in rates.items()]
    kept.pop("series", None)  # those of the plan
    for cost in kept["simulated"]["costs"].values():
        cost.pop("range", None)
    path = fake.folder / "native.json"
    path.write_text(json.dumps(kept))
    return path


# The stand-in makes 1,000 turns and the seed in each context and 10 ms: by one, and by four.
ONE, FOUR = 100_150.0, 400_600.0
RIGHT = {
    **{f"short/{lock}/1": [ONE, ONE * 1.1] for lock in ("tas", "ticket", "mcs")},
    **{f"short/{lock}/4": [FOUR * 1.1, FOUR * 1.2] for lock in ("tas", "ticket", "mcs")},
}


def validated(fake: Fake, rates: dict[str, list[float]]) -> tuple[int, dict[str, Any], str]:
    done = fake("validate", "--native", natives(fake, rates), "-o", "out.json", "--jobs", "1")
    assert (fake.folder / "out.json").exists(), done.stdout + done.stderr
    return done.returncode, json.loads((fake.folder / "out.json").read_text()), done.stdout


def verdicts(kept: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    return {one["point"]: (one["kind"], one["right"]) for one in kept["points"]}


def test_what_is_right(fake: Fake) -> None:
    code, kept, said = validated(fake, RIGHT)
    assert set(verdicts(kept).values()) == {("steady", True)}
    assert code == 0, said
    assert kept["points"][0]["simulated"] == [100_100, 100_200]
    assert "reached" in said
    assert "missed" not in said


def test_what_is_wrong(fake: Fake) -> None:
    rates = {
        **RIGHT,
        "short/tas/4": [FOUR * 1.6, FOUR * 1.7],
        "short/mcs/4": [FOUR * 1.6, FOUR * 9],
    }
    code, kept, said = validated(fake, rates)
    found = verdicts(kept)
    assert found["short/tas/4"] == ("steady", False)
    assert found["short/mcs/4"] == ("unsteady", False)
    assert found["short/ticket/4"] == ("steady", True)
    assert kept["wrong_orders"] == [
        {"faster": f"short/{lock}/4", "slower": "short/ticket/4"} for lock in ("tas", "mcs")
    ]
    assert code == 1
    assert "WRONG" in said


def test_too_few_right_points_fail_it(fake: Fake) -> None:
    rates = {n: [rate * 2.5 for rate in of] if n[-1] == "4" else of for n, of in RIGHT.items()}
    code, kept, said = validated(fake, rates)
    assert (code, kept["wrong_orders"]) == (1, [])
    assert "missed" in said


def compared(native: list[float], simulated: list[float], alone: float = 1e6) -> Compared:
    asked = native_points.plan()
    point = native_points.points(asked)[-1]
    return Compared(point, native, simulated, (alone, alone), asked.judged)


@pytest.mark.parametrize(
    ("native", "simulated", "kind", "right"),
    [
        ([90e3], [1e3], Kind.COLLAPSED, True),
        ([90e3, 1, 9e5], [99e3], Kind.COLLAPSED, True),
        ([90e3], [101e3], Kind.COLLAPSED, False),
        ([110e3], [99e3], Kind.STEADY, True),
        ([150e3], [99e3], Kind.STEADY, False),
        ([150e3, 400e3, 300e3], [100e3], Kind.UNSTEADY, True),
        ([150e3, 400e3, 300e3], [99e3], Kind.UNSTEADY, False),
        ([150e3, 400e3, 300e3], [601e3], Kind.UNSTEADY, False),
    ],
)
def test_a_rate_below_100_k_is_judged_as_collapsed_or_not(
    native: list[float], simulated: list[float], kind: Kind, right: bool
) -> None:
    one = compared(native, simulated)
    assert (one.kind, one.right) == (kind, right)


def test_a_low_rate_of_long_sections_has_not_collapsed() -> None:
    assert compared([50e3], [30e3], alone=160e3).kind is Kind.STEADY


def test_what_has_collapsed_has_no_order() -> None:
    a, b = compared([9e3], [1e3]), compared([1e3], [9e3])
    assert not list(native_points.orders([a, b]))
    assert len(list(native_points.orders([a, compared([9e5], [9e5])]))) == 1


def with_ranges(fake: Fake) -> None:
    with_costs(fake, [{"cpus": [0, 1], "one_way": 24}])
    assert fake("calibrate", "--runs", "3", "-o", "m.toml").returncode == 0


def test_simulated_ranges_are_of_seeds_and_of_the_calibration(fake: Fake) -> None:
    with_ranges(fake)
    words = ("validate", "--native", natives(fake, RIGHT), "--jobs", "1", "-o", "out.json")
    done = fake(*words, "--machine", "m.toml")
    assert "not of the calibration's error" not in done.stdout
    kept = json.loads((fake.folder / "out.json").read_text())
    assert {len(one["by_calibration"]) for one in kept["points"]} == {1}
    hits = {told["machine"]["costs"]["hit"] for told in fake.all_told()}
    assert len(hits) == 2
    assert 4 in hits
    assert all(2 <= hit <= 9 for hit in hits)


def test_without_ranges_it_says_so(fake: Fake) -> None:
    _, kept, said = validated(fake, RIGHT)
    assert "not of the calibration's error" in said
    assert all(one["by_calibration"] == [] for one in kept["points"])


TABLE = "# from elsewhere\nlock,1,4\ntas,100000,400000\nticket,100000,300\n"


def of_a_table(fake: Fake, text: str, *words: str) -> Any:
    (fake.folder / "rates.csv").write_text(text)
    with_ranges(fake)
    return fake("validate", "--native", "rates.csv", "--jobs", "1", *words)


def test_rates_of_another_machine_come_as_a_table(fake: Fake) -> None:
    words = ("--machine", "m.toml", "--scheduler", "eevdf", "--ncs-ns", "500", "-o", "out.json")
    done = of_a_table(fake, TABLE, *words)
    assert (fake.folder / "out.json").exists(), done.stderr
    kept = json.loads((fake.folder / "out.json").read_text())
    assert verdicts(kept) == {
        "table/tas/1": ("steady", True),
        "table/tas/4": ("steady", True),
        "table/ticket/1": ("steady", True),
        "table/ticket/4": ("collapsed", False),
    }
    assert kept["series"][0]["ncs_ns"] == 500
    assert {told["guests"][0]["parameters"]["sections_ncs"] for told in fake.all_told()} == {500}


def test_a_point_of_a_table_is_held_out_if_it_is_by_the_plan(fake: Fake) -> None:
    of_a_table(fake, TABLE, "--machine", "m.toml", "--scheduler", "eevdf", "-o", "out.json")
    kept = json.loads((fake.folder / "out.json").read_text())
    assert {one["point"] for one in kept["points"]} == {
        f"short/{lock}/{n}" for lock in ("tas", "ticket") for n in (1, 4)
    }


def test_every_order_is_counted_once(fake: Fake) -> None:
    rates = {name: [rate * (1 + i) for rate in of] for i, (name, of) in enumerate(RIGHT.items())}
    _, kept, _ = validated(fake, rates)
    counted = [score["orders"] for score in kept["scores"].values()]
    assert sum(number for number, _ in counted) == 6  # of three locks, at two numbers of threads
    assert sum(number - right for number, right in counted) == len(kept["wrong_orders"])


def test_a_former_cost_is_read_in_files_but_not_in_scenarios(fake: Fake) -> None:
    with_ranges(fake)
    with (fake.folder / "m.toml").open("a") as file:
        file.write('[costs.upgrade]\nns = 5\nsource = "as near"\n')
    assert (
        "upgrade" not in fake.told("collapse", "--set", "machine=./m.toml")[0]["machine"]["costs"]
    )
    done = fake("collapse", "--set", "machine.costs.upgrade.ns=5")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "upgrade" in done.stderr


def test_a_table_needs_a_machine_and_a_scheduler(fake: Fake) -> None:
    for words, lacks in (
        (("--scheduler", "fair"), "--machine"),
        (("--machine", "m.toml"), "--scheduler"),
    ):
        done = of_a_table(fake, TABLE, *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert lacks in done.stderr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no columns"),
        ("lock,4,1\n", "do not ascend"),
        ("lock,1\nnothing,1\n", "there is no lock nothing"),
        ("lock,1,2\ntas,1\n", "tas has 1 rates for 2 columns"),
        ("lock,1\ntas,nan\n", "a rate of tas is no number"),
        ("lock,one\ntas,1\n", "one is not a number of threads"),
        ("lock,1\ntas,much\n", "much is not a rate"),
    ],
)
def test_a_bad_table_is_one_line(fake: Fake, text: str, why: str) -> None:
    done = of_a_table(fake, text, "--machine", "m.toml", "--scheduler", "fair")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert why in done.stderr


def test_a_third_is_held_out_by_its_name(fake: Fake) -> None:
    _, kept, _ = validated(fake, RIGHT)
    held = {one["point"] for one in kept["points"] if one["held_out"]}
    assert held == {
        p.name for p in native_points.points(native_points.plan()) if is_held_out(p.name)
    }
    assert 0 < len(held) < len(RIGHT)


def is_held_out(name: str) -> bool:
    from hashlib import sha256

    return int(sha256(name.encode()).hexdigest(), 16) % 3 == 0


def test_its_own_result_can_be_read_again(fake: Fake) -> None:
    _, kept, _ = validated(fake, RIGHT)
    done = fake("validate", "--native", "out.json", "-o", "again.json", "--jobs", "1")
    assert done.returncode == 0
    assert json.loads((fake.folder / "again.json").read_text()) == kept


def test_points_that_were_not_measured_have_no_verdict(fake: Fake) -> None:
    rates = {name: of for name, of in RIGHT.items() if "mcs" not in name}
    _, kept, _ = validated(fake, rates)
    assert len(verdicts(kept)) == 4


def test_files_of_others_are_refused(fake: Fake) -> None:
    other = MEASURED.read_text().replace("overlock-validation", "overlock-result", 1)
    for text in ("{}", "[", other):
        (fake.folder / "bad.json").write_text(text)
        done = fake("validate", "--native", "bad.json")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "bad.json is not a result of overlock sim validate" in done.stderr


def test_interrupted_it_goes_on_where_it_was(fake: Fake) -> None:
    fake.says(mcs={"hang": True})
    file = natives(fake, RIGHT)
    words = ("validate", "--native", str(file), "-o", "out.json", "--jobs", "1")
    process = subprocess_of_a_small_plan(fake, *words)
    until(lambda: fake.log.exists() and "mcs" in fake.log.read_text())
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=HANG_S)[0]
    assert process.returncode == 130, said
    assert "repeat the command to continue" in said
    fake.calls()
    fake.says()
    assert fake(*words).returncode == 0
    assert sorted(fake.calls()) == sorted([*FOURS, "mcs 1", "mcs 2"])


FOURS = [f"{lock} {seed}" for lock in ("tas", "ticket", "mcs") for seed in (1, 2)]


def subprocess_of_a_small_plan(fake: Fake, *words: str) -> Any:
    """Not forked: it is to be interrupted. A module that Python imports first names the plan."""
    (fake.folder / "sitecustomize.py").write_text(
        "from pathlib import Path\n"
        "from overlock_tools.sim import native_points\n"
        f"native_points.PLAN = Path({str(fake.folder / 'plan.toml')!r})\n"
    )
    fake.environment["PYTHONPATH"] = f"{fake.folder}:{fake.environment.get('PYTHONPATH', '')}"
    return fake.apart(*words)


def test_it_measures_what_it_was_not_given(fake: Fake) -> None:
    """By `overlock bench`, and not a second time."""
    from tests.conftest import NATIVE

    with_costs(fake, [{"cpus": [0, 1], "one_way": 24}])
    for program in NATIVE.glob("overlock-*"):
        if not (fake.native / program.name).exists():
            (fake.native / program.name).symlink_to(program)
    words = ("validate", "-o", "out.json", "--jobs", "1", "--runs", "1", "--scheduler", "fair")
    done = fake(*words)
    assert (fake.folder / "out.json").exists(), done.stdout + done.stderr
    kept = json.loads((fake.folder / "out.json").read_text())
    assert [len(one["native"]) for one in kept["points"]] == [2] * 6
    again = fake(*words)
    assert "round 1 of" in done.stdout
    assert "round 1 of" not in again.stdout
    assert json.loads((fake.folder / "out.json").read_text())["points"] == kept["points"]
