# SPDX-License-Identifier: MIT
"""A grid: every combination of its axes, what it tells of locks, and its map."""

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.sim import grid, grid_campaign, grid_map, native_points, resolve, scenario
from overlock_tools.sim.grid import Grid
from tests.sim.command.conftest import Fake

AXES = """\
machine = "typical"
time_ms = 10

[[guest]]
name = "app"

[axes.load]
alone = {}
beside = { guest = [{ name = "app" }, { name = "other", workload = "burn", contexts = 2 }] }

[axes.contexts]
"½" = { "guest.app.contexts" = "0.5x", time_ms = 20 }
2 = { "guest.app.contexts" = "2x", "guest.app.quota_cpus" = "0.25x" }
"""


def made(rate: list[list[float]], axes: dict[str, list[str]] | None = None) -> Grid:
    table = np.array(rate, dtype=float)
    axes = axes or {"n": [str(n) for n in range(len(rate))]}
    locks = ["tas", "ticket", "mcs"][: table.shape[1]]
    return Grid(
        "trial", "overlock sim grid", axes, locks, table, table * 0 + 0.5, table * 0 + 7, {}
    )


def test_every_combination_of_the_axes_is_a_scenario(fake: Fake) -> None:
    fake.file.write_text(AXES)
    told = fake.told("trial.toml", "--locks", "mcs")
    seen = [(len(one["guests"]), one["guests"][0]["contexts"], one["time_us"]) for one in told]
    assert seen == [(1, 4, 20_000), (1, 16, 10_000), (2, 4, 20_000), (2, 16, 10_000)]
    assert [one["guests"][0]["quota_us"] for one in told] == ["inf", 200_000.0] * 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('2 = { "guest.app.context" = 3 }', "guest.app.context: unknown; did you mean contexts?"),
        ('2 = { "guest.app.contexts" = "0x" }', "a number, or a multiple of the CPUs"),
        ('2 = { "guest.web.contexts" = 1 }', "there is no guest web"),
    ],
)
def test_a_wrong_value_of_an_axis_is_named_with_its_line(fake: Fake, line: str, words: str) -> None:
    text = AXES.replace(AXES.splitlines()[-1], line)
    fake.file.write_text(text)
    done = fake("grid", "trial.toml")
    assert done.returncode == 2
    assert words in done.stderr
    assert f"trial.toml:{text.splitlines().index(line) + 1}: " in done.stderr


def test_a_grid_keeps_of_each_run_what_it_needs(fake: Fake) -> None:
    fake.file.write_text(AXES)
    fake.says(mcs={"turns": 500}, tas={"failure": "not excluded"})
    out = fake.folder / "grid.json"
    done = fake("grid", "trial.toml", "--locks", "ticket,mcs,tas", "-o", out)
    assert done.returncode == 1
    assert done.stdout.count("failed: tas, ") == 4
    kept = json.loads(out.read_text())
    assert kept["axes"] == {"load": ["alone", "beside"], "contexts": ["½", "2"]}
    assert kept["rate"][0] == [200_000, 100_000, None]  # 4 contexts, 1001 and 501 turns in 20 ms
    assert kept["rate"][2] == kept["rate"][0]  # the neighbour has turns, too
    assert kept["longest_us"][0][:2] == [0.9, 0.9]
    assert len(fake.calls()) == 12
    small = [json.loads(path.read_text()) for path in fake.folder.glob("grid.runs/*/*.json")]
    assert {frozenset(one) for one in small} == {
        frozenset(("failure", "rate", "jain", "longest_us"))
    }
    again = fake("grid", "trial.toml", "--locks", "ticket,mcs,tas", "-o", out)
    assert (again.returncode, fake.calls()) == (1, [])
    assert json.loads(out.read_text()) == kept


def test_a_kept_grid_can_be_read_and_drawn(fake: Fake) -> None:
    fake.file.write_text(AXES)
    out, picture = fake.folder / "grid.json", fake.folder / "map.svg"
    fake("grid", "trial.toml", "--locks", "ticket,mcs", "-o", out)
    done = fake("grid", "--read", out, "--svg", picture, "--of", "mcs")
    assert done.returncode == 0, done.stderr
    assert "faster the best lock is than mcs" in picture.read_text()
    assert fake("grid", "--read", out, "--svg", picture, "--of", "tas").returncode == 2
    out.write_text(out.read_text().replace('"½", ', ""))
    done = fake("grid", "--read", out)
    assert done.returncode == 2
    assert "is not a result of overlock sim grid (its tables are not 2 by 2)" in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (AXES.partition("[axes.load]")[0], "it has no axes"),
        (f"seeds = 2\n{AXES}", "remove seeds"),
    ],
)
def test_what_is_no_grid_is_refused(fake: Fake, text: str, words: str) -> None:
    fake.file.write_text(text)
    done = fake("grid", "trial.toml")
    assert done.returncode == 2
    assert words in done.stderr


def test_regret_is_how_much_faster_the_best_is() -> None:
    rate = [[100.0, 96, 1]] * 8 + [[50, 100, 9], [0, 10, 100]]
    tas, ticket, mcs = sorted(grid.regrets(made(rate)), key=lambda one: -one.median == 0)[:3]
    by_lock = {one.lock: one for one in (tas, ticket, mcs)}
    assert by_lock["tas"].like_best == pytest.approx(0.8)
    assert by_lock["tas"].collapsed == pytest.approx(0.1)
    assert by_lock["tas"].worst == float("inf")
    assert by_lock["tas"].where == ("9",)
    assert by_lock["ticket"].like_best == pytest.approx(0.9)
    assert (by_lock["ticket"].collapsed, by_lock["ticket"].most_of_ten) == (0, 10)
    assert (by_lock["mcs"].median, by_lock["mcs"].most_of_ten) == (100, 100)
    assert [one.lock for one in grid.regrets(made(rate))] == ["ticket", "mcs", "tas"]


def test_few_locks_stand_for_all_that_are_as_good() -> None:
    known = made([[100.0, 96, 1], [90, 100, 1], [1, 1, 100], [98, 10, 100]])
    assert known.named == ["tas", "ticket", "mcs"]
    assert known.best == ["tas", "ticket", "mcs", "tas"]


def test_a_lock_whose_run_failed_has_no_share() -> None:
    assert made([[float("nan"), 100, 50]]).share.tolist() == [[0, 1, 0.5]]


def test_nobody_is_best_where_all_stand_still() -> None:
    known = made([[0.0, 0, 0]])
    assert known.share.tolist() == [[1, 1, 1]]


def test_the_map_has_a_cell_for_each_scenario_in_its_lock_s_colour() -> None:
    axes = {"load": ["x", "y"], "CPUs": ["2", "4"], "contexts": ["1", "2", "4"]}
    rate = [[100.0, 1], [1, 100.0], [100.0, 1]] * 4
    cells, keys = grid_map._best(made(rate, axes))
    assert cells.tolist() == [0, 1, 0] * 4
    assert [key.text for key in keys] == ["tas, 67%", "ticket, 33%"]
    drawn = grid_map.svg(made(rate, axes), "trial", cells, keys)
    fills = Counter(re.findall(r'style="fill: var\(--series-(\d)\)', drawn))
    assert fills["0"] == 6 + 1  # two that are alike are one; and in the legend
    assert fills["1"] == 4 + 1


def test_a_map_of_regret_has_steps() -> None:
    cells, keys = grid_map._behind(made([[100.0, 100], [100, 70], [100, 9], [100, 0]]), "ticket")
    assert cells.tolist() == [0, 1, 5, 6]
    assert keys[0].text == "≤ 1.05×, 25%"


def test_a_map_has_no_room_for_six_axes() -> None:
    with pytest.raises(Fail, match="5 axes at most"):
        grid_map.shape({str(n): ["a", "b"] for n in range(6)})


def test_the_ready_grid_has_what_it_promises() -> None:
    asked = scenario.load("which-lock", [])
    places = resolve.places(asked)
    assert len(places) == len(asked.points) == 2100
    told = [resolve.told(place, "tas", 1) for place in places]
    assert len({json.dumps(one, sort_keys=True) for one in told}) == 2100
    found = dict(grid_campaign._validated(places))
    wanted = {
        f"{series.name}/{threads}"
        for series in native_points.plan().series
        if series.copies == 1 and not series.quota_cpus  # whose period is another
        for threads in series.threads
    }
    assert set(found) == wanted
    row: Any = told[found["short/8"]]
    assert (row["machine"]["cpus"], row["guests"][0]["contexts"]) == (2, 8)
    labels = list(itertools.product(*asked.axes.values()))
    assert labels[found["short/8"]][0] == "alone"
    for one in told:  # a quota is used up several times
        if one["guests"][0]["quota_us"] != "inf":
            assert one["time_us"] >= 3 * one["guests"][0]["period_us"]
    assert Path(asked.file).stem == grid_campaign.READY
