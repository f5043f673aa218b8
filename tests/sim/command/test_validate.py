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
within = 2.0
steady = 2.0
collapsed = 0.1
right = 0.9
held_out = 3
[native]
rounds = 2
seconds = 0.01
[simulated]
seconds = 0.01
warm_up = 0
seeds = 2
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
    assert (costs.get("near"), costs.get("upgrade")) == (10, 10)
    assert all(
        c["source"].startswith("measured by overlock-costs") for c in found["costs"].values()
    )
    told = fake.told("collapse", "--set", "machine=./m.toml")[0]["machine"]["costs"]
    assert (told["hit"], told["far"]) == (4, 120)


def test_without_output_the_file_is_all_that_is_printed(fake: Fake) -> None:
    with_costs(fake, [])
    assert tomllib.loads(fake("calibrate", "--runs", "1").stdout)["costs"]["hit"]["ns"] == 9


def natives(fake: Fake, rates: dict[str, list[float]]) -> Path:
    """As an earlier validation left it."""
    kept = json.loads(MEASURED.read_text())
    kept["points"] = [{"point": name, "native": of} for name, of in rates.items()]
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


def verdicts(kept: dict[str, Any]) -> dict[str, tuple[bool, bool]]:
    return {one["point"]: (one["steady"], one["right"]) for one in kept["points"]}


def test_what_is_right(fake: Fake) -> None:
    code, kept, said = validated(fake, RIGHT)
    assert set(verdicts(kept).values()) == {(True, True)}
    assert code == 0, said
    assert kept["points"][0]["simulated"] == [100_100, 100_200]
    assert "reached" in said
    assert "missed" not in said


def test_what_is_wrong(fake: Fake) -> None:
    rates = {**RIGHT, "short/tas/4": [FOUR * 2.1, FOUR * 2.2], "short/mcs/4": [FOUR, FOUR * 9]}
    code, kept, said = validated(fake, rates)
    found = verdicts(kept)
    assert (found["short/tas/4"], found["short/mcs/4"]) == ((True, False), (False, False))
    assert found["short/ticket/4"] == (True, True)
    assert kept["wrong_orders"] == [{"faster": "short/tas/4", "slower": "short/ticket/4"}]
    assert code == 1
    assert "WRONG" in said


def test_too_few_right_points_fail_it(fake: Fake) -> None:
    rates = {n: [rate * 2.5 for rate in of] if n[-1] == "4" else of for n, of in RIGHT.items()}
    code, kept, said = validated(fake, rates)
    assert (code, kept["wrong_orders"]) == (1, [])
    assert "missed" in said


def test_both_collapsed_is_right_where_rounds_differ(fake: Fake) -> None:
    fake.says(mcs={"turns": 1000})
    rates = {**RIGHT, "short/mcs/1": [1e9, 1e9], "short/mcs/4": [10.0, 5e7]}
    assert verdicts(validated(fake, rates)[1])["short/mcs/4"] == (False, False)
    one = native_points.Compared(
        native_points.points(native_points.plan())[-1], [1.0, 9.0], [2.0], (100.0, 100.0),
        native_points.plan().judged,
    )  # fmt: skip
    assert (one.steady, one.right) == (False, True)


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
    assert "round" not in again.stdout
    assert json.loads((fake.folder / "out.json").read_text())["points"] == kept["points"]
