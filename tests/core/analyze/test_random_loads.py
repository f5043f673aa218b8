# SPDX-License-Identifier: MIT
"""Random loads, judged: which peer, by which rounds, and what chance takes off the bar."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from overlock_tools.core.analyze import random_loads
from overlock_tools.core.analyze.random_loads import Document, Judged, Load, OfLock
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.results import GivenUp, Result
from overlock_tools.core.system.errors import Fail
from tests.command import schema

LOAD = Load(3, "short", "bench --locks OURS,PEER --baseline PEER", processes=2)


def cell(variant: str, number: int, rate: float, cpu: float = 1.0) -> Cell:
    return Cell(number, variant, 4, rate, 1.0, cpu, per_thread=[1, 1], gap_ns=100 * rate)


def made(rates: dict[str, list[float]]) -> Result:
    """Rates by round."""
    return Result(
        kind="sections",
        title="trial",
        unit="acquisitions",
        baseline="rota",
        command="",
        settings={"cpus": 2},
        machine={},
        native={},
        variants=list(rates),
        threads=[4],
        cells=[cell(v, i, rate) for v, row in rates.items() for i, rate in enumerate(row, 1)],
    )


def judged(rates: dict[str, list[float]], again: str | None = "rota@tau=9") -> Judged:
    found = random_loads.judge(made(rates), LOAD, "rota", again)
    assert found
    return found


TEN = range(10)


def test_a_peer_that_was_lucky_in_the_rounds_that_chose_it_is_judged_by_the_others() -> None:
    lucky = [50.0 if i % 2 == 0 else 300.0 for i in TEN]
    found = judged(
        {"rota": [100.0] * 10, "rota@tau=9": [100.0] * 10, "mcs": lucky, "tas": [120.0] * 10}
    )
    assert found.peer == "mcs"
    assert [found.ratio, found.low, found.high] == pytest.approx([2, 2, 2])
    assert found.repeat == "bench --locks rota,mcs --baseline mcs"
    assert (found.number, found.cpus, found.threads, found.per_cpu) == (3, 2, 8, 4.0)


def test_the_lock_by_its_other_name_is_no_peer() -> None:
    found = judged({"rota": [100.0] * 10, "rota@tau=9": [110.0] * 10, "tas": [50.0] * 10})
    assert found.peer == "tas"
    assert [found.ratio, found.again] == pytest.approx([2, 1.1])


def test_without_another_name_the_halves_of_the_rounds_are_compared() -> None:
    found = judged({"rota": [100.0, 120.0], "tas": [50.0, 50.0]}, again=None)
    assert found.again == pytest.approx(1.2)
    assert found.ratio == pytest.approx(2)
    assert (found.low, found.high) == (2.0, 2.4)  # the range of two seeds


def test_what_is_kept_of_each_lock() -> None:
    rates = {"rota": [100.0] * 4, "rota@tau=9": [100.0] * 4, "pthread_mutex": [50.0, 50, 50, 60]}
    found = judged(rates)
    assert found.locks["pthread_mutex"] == OfLock(4, 50.0, 1.0, 6000.0, 20_000.0)
    assert (found.gap_ns, found.peer_gap_ns) == (10_000.0, 6000.0)
    assert found.cpu_beside_mutex == pytest.approx(0.5)
    assert judged({**rates, "tas": [9.0] * 4}).cpu_beside_mutex == pytest.approx(0.5)


def test_a_lock_that_is_wrong_has_a_ratio_of_0() -> None:
    result = made({"rota": [100.0] * 4, "tas": [50.0] * 4})
    result.cells[0].wrong = "not excluded"
    found = random_loads.judge(result, LOAD, "rota", None)
    assert found
    assert (found.ratio, found.peer) == (0.0, "")
    assert found.failure == "rota with 4 threads: not excluded"
    assert found.repeat == "bench --locks rota --baseline rota"
    hung = made({"tas": [50.0] * 4})
    hung.hung.append(GivenUp("rota", 4, "hung in round 1"))
    lost = random_loads.judge(hung, LOAD, "rota", None)
    assert lost
    assert (lost.ratio, lost.gap_ns) == (0.0, None)


def test_a_peer_that_is_wrong_does_not_count() -> None:
    result = made({"rota": [100.0] * 4, "tas": [50.0] * 4, "mcs": [900.0] * 4})
    result.cells[-1].wrong = "not excluded"
    found = random_loads.judge(result, LOAD, "rota", None)
    assert found
    assert found.peer == "tas"


def test_a_lock_of_a_file_is_repeated_by_its_file() -> None:
    load = replace(LOAD, files={"rota": Path("./rota.h"), "mcs": Path("/x/mcs.h")})
    result = made({"rota": [9.0] * 4, "mcs@tau=0": [9.0] * 4})
    found = random_loads.judge(result, load, "rota", None)
    assert found
    assert found.repeat == "bench --locks rota.h,/x/mcs.h@tau=0 --baseline /x/mcs.h@tau=0"


def test_of_one_round_nothing_is_judged() -> None:
    assert not random_loads.judge(made({"rota": [1.0], "tas": [1.0]}), LOAD, "rota", None)


# All loads


def load(number: int, ratio: float, again: float | None = 1.0, threads: int = 4) -> Judged:
    locks = {
        "rota": OfLock(9, ratio, 1.0, 1000.0 * number, 2.0),
        "tas": OfLock(9, 1.0, 1.0, 10.0, 1.0),
        "pthread_mutex": OfLock(9, 0.5, 1.0, 5.0, 4.0),
    }
    return Judged(
        number, 2, threads, f"load {number}", "", ratio, None, None, "tas", again, "rota", locks
    )


def test_nine_of_ten_ratios_to_itself_are_within_the_spread() -> None:
    assert random_loads.spread([1.0] * 9 + [0.1]) == 0
    assert random_loads.spread([1.0] * 8 + [0.9, 0.1]) == pytest.approx(0.1)
    assert random_loads.spread([1.0] * 8 + [1.25, 0.1]) == pytest.approx(0.2)  # as far as 0.8
    assert random_loads.spread([]) is None


def test_the_bar_is_lower_by_the_spread() -> None:
    ratios = [0.6, 0.7, 0.74, 0.75, 0.94, 0.95, 1.0, 1.0, 1.0, 2.0]
    again = [0.8, 0.8, *[1.0] * 8]
    found = random_loads.summary(
        [load(i, r, a) for i, (r, a) in enumerate(zip(ratios, again, strict=True))]
    )
    assert found.spread == pytest.approx(0.2)
    assert found.bar == pytest.approx(0.75)
    assert (found.reach_bar, found.as_good, found.not_far) == (0.7, 0.5, 0.9)
    assert found.again_as_good == 0.8
    assert found.median == pytest.approx(0.945)
    assert found.cpu_beside_mutex == 0.5


def test_the_worst_ten_come_first() -> None:
    found = random_loads.summary([load(i, 2 - i / 100) for i in range(30)])
    assert found.worst == list(range(29, 19, -1))


def test_the_gap_is_that_of_the_tenth_of_the_loads_with_the_most_threads() -> None:
    loads = [load(i, 1.0, threads=1000 if i in (3, 7) else 8) for i in range(20)]
    found = random_loads.summary(loads)
    assert sorted(found.most_threads) == [3, 7]
    assert (found.gap_ns, found.peers_gap_ns) == (7000.0, 10.0)


def document() -> Document:
    other = replace(load(5, 0.0), cpus=16, failure="hung", low=0.5, high=None, peer="", again=None)
    loads = [load(1, 0.5), load(3, 1.2), other]
    return Document("overlock bench random", "2 CPUs", "rota", 1, "judging", False, loads, [7])


def test_the_file_is_as_its_schema_says_and_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "drawn.json"
    path.write_text(document().to_json())
    body = json.loads(path.read_text())
    jsonschema.validate(body, schema("random"))
    assert list(body["summary"]) == ["2", "16"]
    assert body["summary"]["16"]["failed"] == [5]
    assert body["summary"]["2"]["loads"] == 2
    assert random_loads.read(path) == document()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": "overlock-result"}, "the format is not overlock-random, version 1"),
        ({"loads": [{}]}, "the file: loads has no number"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, change: dict[str, object], why: str) -> None:
    path = tmp_path / "drawn.json"
    path.write_text(json.dumps(json.loads(document().to_json()) | change))
    with pytest.raises(Fail, match="create one with `overlock bench random --json FILE`") as failed:
        random_loads.read(path)
    assert f"({why})" in failed.value.message
