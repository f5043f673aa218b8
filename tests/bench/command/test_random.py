# SPDX-License-Identifier: MIT
"""`overlock bench random`: each load as it was drawn, a control in every round, taken up again."""

import json
import shlex
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from overlock_tools.bench.random_loads import the_same_again
from overlock_tools.core.model.drawn_loads import drawn
from overlock_tools.core.system import machine
from tests.bench.command.test_plan import World, fails
from tests.command import Done, schema
from tests.processes import HANG_S, until

RATES = {"rota": 2e6, "tas": 1e6, "mcs": 1e6, "twa": 1e3, "pthread_mutex": 1e6}
COUNT = {"unit": "count", "what": "", "least": 0, "most": 65536}
TIME = {"unit": "ns", "what": "", "least": 0, "most": 1e9}
PARAMETERS: list[dict[str, Any]] = [
    {"name": "cs", "preset": 70, **TIME},
    {"name": "ncs", "preset": 330, **TIME},
    {"name": "shape", "choices": "fixed|uniform|exponential|pareto", "what": ""},
    {"name": "locks", "preset": 1, **COUNT},
    {"name": "zipf", "preset": 0, "unit": "milli", "what": "", "least": 0, "most": 10},
    {"name": "nested", "preset": 0, **COUNT},
]
OTHERS = ("--locks", "tas,mcs,pthread_mutex")
SHORT = ("--rounds", "4", "--seconds", "0.01")


@pytest.fixture
def drawing(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.world |= {
        "rates": RATES,
        "workloads": ["sections", "conditions"],
        "parameters": PARAMETERS,
    }
    return world


def measure(world: World, *args: str) -> Done:
    return world.run("random", "-o", "d", "--json", "d.json", *OTHERS, *SHORT, *args)


def verdict(world: World) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((world.results / "d.json").read_text())
    jsonschema.validate(body, schema("random"))
    return body


def test_each_load_is_measured_as_it_was_drawn(drawing: World) -> None:
    done = measure(drawing, "--count", "4", "--seed", "1")
    assert done.returncode == 0, done.stderr
    told = {float(cell["ncs"]): cell for cell in drawing.asked()}
    for number in (1, 3, 5, 7):
        load = drawn(1, number)
        cell = told[load.parameters["ncs_ns"]]
        assert cell["workload"] == load.workload
        assert cell["threads"] == str(load.threads(machine.cpus()))
        assert cell.get("copies", "1") == str(load.processes)
        if load.workload == "sections":
            assert float(cell["cs"]) == load.parameters["cs_ns"]
            assert cell["shape"] == load.parameters["shape"]
            assert cell["locks"] == str(load.parameters.get("lock_count", 1))
            assert cell["nested"] == str(load.parameters.get("nested", 0))
    assert len(told) == 4
    kept = sorted(path.name for path in (drawing.results / "d").iterdir())
    assert kept == [f"load-{number:04}.json" for number in (1, 3, 5, 7)]


def test_the_lock_is_measured_twice_in_every_round(drawing: World) -> None:
    measure(drawing, "--only", "3")
    cells = Counter(cell["variant"] for cell in drawing.asked())
    (again,) = (variant for variant in cells if variant.startswith("rota@"))
    assert cells == {"rota": 4, again: 4, "tas": 4, "mcs": 4, "pthread_mutex": 4}
    (load,) = verdict(drawing)["loads"]
    assert (load["again"], load["ratio"]) == (pytest.approx(1), pytest.approx(2, rel=0.01))
    assert load["peer"] in ("tas", "mcs", "pthread_mutex")


def test_the_other_name_says_what_the_environment_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert the_same_again("rota") == "rota@tau=400"
    monkeypatch.setenv("OVERLOCK_TAU_NS", "77")
    assert the_same_again("rota") == "rota@tau=77"
    assert the_same_again("rota@tau=5").startswith("rota@tau=5@")
    assert "@tau=" not in the_same_again("rota@tau=5").removeprefix("rota@tau=5")


def test_neither_the_lock_nor_its_control_collapses_nor_leaves_the_field(drawing: World) -> None:
    drawing.world["rates"] = {**RATES, "rota": 1e3}
    assert measure(drawing, "--only", "3", "--field", "1").returncode == 0
    cells = Counter(cell["variant"].partition("@")[0] for cell in drawing.asked())
    assert (cells["rota"], cells["pthread_mutex"]) == (8, 4)
    assert cells["tas"] + cells["mcs"] == 4 + 1  # the better one goes on
    (load,) = verdict(drawing)["loads"]
    assert load["ratio"] == pytest.approx(0.001, rel=0.2)
    assert load["locks"]["pthread_mutex"]["rounds"] == 4


def test_what_collapsed_is_no_best_lock(drawing: World) -> None:
    measure(drawing, "--only", "3", "--locks", "twa")
    (load,) = verdict(drawing)["loads"]
    assert load["locks"]["twa"]["rounds"] == 1
    assert load["peer"] != "twa"


def test_a_worst_load_can_be_repeated(drawing: World) -> None:
    done = measure(drawing, "--only", "9")
    first = drawing.asked()[0]
    (load,) = verdict(drawing)["loads"]
    assert load["repeat"] in done.stdout
    drawing.forget()
    words = shlex.split(load["repeat"])
    assert words[:3] == ["overlock", "bench", "sections"]
    assert drawing.run(*words[2:], "--rounds", "1").returncode == 0
    again = drawing.asked()
    assert {cell["variant"] for cell in again} == {"rota", load["peer"]}
    for name in ("threads", "cs", "ncs", "locks", "zipf", "nested"):
        assert float(again[0][name]) == float(first[name])
    assert again[0]["shape"] == first["shape"]


def test_interrupted_it_goes_on_where_it_was(drawing: World) -> None:
    drawing.world["seconds"] = 0.02
    args = ("-o", "d", "--json", "d.json", *OTHERS, *SHORT, "--count", "3")
    child = drawing.start("random", *args)
    until(lambda: len(drawing.asked()) >= 28)  # of 20 for each load
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=HANG_S)
    assert (child.returncode, err) == (130, "")
    assert "interrupted; repeat the command" in out
    body = verdict(drawing)
    assert [load["number"] for load in body["loads"]][:1] == [1]
    assert 5 in body["unjudged"]
    known = len(drawing.asked())
    drawing.world["seconds"] = 0
    drawing.forget()
    done = drawing.run("random", *args)
    assert done.returncode == 0, done.stderr
    assert 60 - known <= len(drawing.asked()) <= 60 - known + 1  # one was under way
    assert [load["number"] for load in verdict(drawing)["loads"]] == [1, 3, 5]
    drawing.forget()
    assert drawing.run("random", *args).returncode == 0
    assert drawing.asked() == []


def test_fewer_threads_are_used_if_asked(drawing: World) -> None:
    measure(drawing, "--count", "5", "--threads-at-most", "3")
    assert max(int(cell["threads"]) for cell in drawing.asked()) == 3


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("--only", "4"), "--only 4: load 4 is for tuning; give --half tuning, or all"),
        (("--plot", "x.txt"), "--plot x.txt: expected a name that ends in .png or .svg"),
        (
            ("--plot", "nowhere/x.svg"),
            "nowhere/x.svg cannot be written: the folder nowhere does not exist; create it first",
        ),
    ],
)
def test_bad_usage(drawing: World, args: tuple[str, ...], line: str) -> None:
    fails(measure(drawing, *args), 2, line)
    assert drawing.asked() == []
    assert list(drawing.results.iterdir()) == []


def test_ratios_are_drawn(drawing: World) -> None:
    measure(drawing, "--count", "3", "--plot", "d.svg")
    text = (drawing.results / "d.svg").read_text()
    assert f"{machine.cpus()} CPUs, 3 loads" in text
    assert "rota ÷ the best other lock of each random load" in text
