# SPDX-License-Identifier: MIT
"""Timelines are of the format that ui.perfetto.dev loads, slices nest, arrows end in slices."""

import copy
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from overlock_tools.sim import timeline
from overlock_tools.sim.trace import Trace
from tests.check.command.conftest import HERE as MODELCHECK
from tests.sim.command.test_explain import CASES
from tests.sim.command.traces import story

SCHEMA = json.loads((MODELCHECK / "trace_events.json").read_text())
Entry = dict[str, Any]


def entries(trace: Trace) -> list[Entry]:
    whole = json.loads(timeline.perfetto(trace))
    Draft202012Validator(SCHEMA).validate(whole)
    found: list[Entry] = whole["traceEvents"]
    return found


def fault(found: list[Entry]) -> str:
    """What Perfetto would drop or draw elsewhere: slices that overlap, arrows from nowhere."""
    named = {(e["pid"], e["tid"]) for e in found if e["name"] == "thread_name"}
    tracks: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for e in found:
        if e["ph"] == "X":
            start, length = (round(e[of] * 1000) for of in ("ts", "dur"))  # in ns, as it does
            tracks[e["pid"], e["tid"]].append((start, start + length))
    if set(tracks) - named:
        return "a track has no name"
    for spans in tracks.values():
        around: list[int] = []
        for start, end in spans:
            while around and around[-1] <= start:
                around.pop()
            if around and end > around[-1]:
                return "slices overlap"
            around.append(end)
    arrows: dict[tuple[str, int], list[Entry]] = defaultdict(list)
    for e in found:
        if e["ph"] in "sf":
            arrows[e["cat"], e["id"]].append(e)
            spans = tracks[e["pid"], e["tid"]]
            if not any(start <= round(e["ts"] * 1000) < end for start, end in spans):
                return "an arrow touches no slice"
    for ends in arrows.values():
        if [e["ph"] for e in ends] != ["s", "f"] or ends[0]["ts"] > ends[1]["ts"]:
            return "an arrow has not two ends, in their order"
    return ""


@pytest.mark.parametrize("case", CASES)
def test_timelines_are_sound(case: str) -> None:
    assert fault(entries(Trace(CASES[case]()["trace"]))) == ""


def test_what_the_tracks_show() -> None:
    found = entries(Trace(story()))

    def track(name: str) -> list[tuple[str, float, float]]:
        [at] = [
            (e["pid"], e["tid"])
            for e in found
            if e["name"] == "thread_name" and e["args"]["name"] == name
        ]
        slices = [e for e in found if e["ph"] == "X" and (e["pid"], e["tid"]) == at]
        return [(e["name"], e["ts"], e["ts"] + e["dur"]) for e in slices]

    assert track("CPU 1") == [("vCPU 2", 0, 5), ("vCPU 4", 5, 95), ("vCPU 2", 95, 110)]
    assert track("vCPU 1") == [("running", 0, 1), ("holding", 1, 10), ("running", 10, 110)]
    assert track("vCPU 2") == [
        ("running", 0, 2),
        ("waits for lock 0", 2, 96),
        ("spinning", 2, 5),
        ("preempted while waiting", 5, 95),
        ("spinning", 95, 96),
        ("holding", 96, 98),
        ("running", 98, 110),
    ]
    assert track("vCPU 4") == [("preempted", 0, 5), ("running", 5, 95), ("preempted", 95, 110)]
    arrows = [(e["ph"], e["tid"], e["ts"]) for e in found if e.get("cat") == "hand-over"]
    assert arrows == [("s", 1, 9.999), ("f", 2, 96), ("s", 2, 97.999), ("f", 3, 99)]


def test_kicks_are_arrows_to_sleepers() -> None:
    told = CASES["parks"]()["trace"]
    found = [e for e in entries(Trace(told)) if e.get("cat") == "kick"]
    assert found
    assert len(found) <= 2 * sum(told["kinds"][event[1]] == "kick" for event in told["events"])


def test_two_levels_have_tracks_of_virtual_cpus() -> None:
    found = entries(Trace(CASES["two levels"]()["trace"]))
    names = {e["args"]["name"] for e in found if e["name"] == "thread_name"}
    assert {"CPU 0", "CPU 1", "vm vCPU 0", "vm vCPU 1", "vm context 4"} <= names


def test_it_is_written(tmp_path: Path) -> None:
    timeline.write_perfetto(Trace(story()), tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["traceEvents"]


def _overlap(e: list[Entry]) -> None:
    next(x for x in e if x["name"] == "spinning")["dur"] += 3


def _lose_an_end(e: list[Entry]) -> None:
    e.remove(next(x for x in e if x["ph"] == "f"))


def _shoot_at_nothing(e: list[Entry]) -> None:
    next(x for x in e if x["ph"] == "f")["ts"] = 500


def _forget_a_name(e: list[Entry]) -> None:
    e.remove(next(x for x in e if x["name"] == "thread_name"))


@pytest.mark.parametrize("spoil", [_overlap, _lose_an_end, _shoot_at_nothing, _forget_a_name])
def test_faults_are_found(spoil: Any) -> None:
    found = copy.deepcopy(entries(Trace(story())))
    spoil(found)
    assert fault(found)


@pytest.mark.parametrize("spoil", [{"ph": "f", "id": None}, {"ph": "X", "dur": -1}])
def test_the_schema_refuses_what_would_not_load(spoil: Entry) -> None:
    found = copy.deepcopy(entries(Trace(story())))
    broken = next(e for e in found if e["ph"] == spoil["ph"])
    broken.update(spoil)
    assert not Draft202012Validator(SCHEMA).is_valid({"traceEvents": found})
