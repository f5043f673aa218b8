# SPDX-License-Identifier: MIT
"""The timeline is of the format that ui.perfetto.dev and chrome://tracing load, and is true."""

import copy
import json
from itertools import pairwise
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.check.command.conftest import HERE, ONE, Fake
from tests.check.command.story import STEPS, failure

SCHEMA = json.loads((HERE / "trace_events.json").read_text())
Entry = dict[str, Any]


def traced(fake: Fake, *args: str) -> list[Entry]:
    fake.says({"failure": failure()})
    done = fake(*(args or ("pv_ticket", *ONE)), "--trace", "out.json")
    assert done.returncode == 1
    assert "written: out.json; open it in ui.perfetto.dev" in done.stdout
    whole = json.loads((fake.folder / "out.json").read_text())
    Draft202012Validator(SCHEMA).validate(whole)
    entries: list[Entry] = whole["traceEvents"]
    return entries


def test_each_step_is_there(fake: Fake) -> None:
    entries = traced(fake)
    steps = [e for e in entries if e.get("cat") == "step"]
    assert [(e["ts"], e["tid"]) for e in steps] == [(n, int(s[0][-1])) for n, s in enumerate(STEPS)]
    assert steps[1]["name"] == "cas acquire lock"
    assert steps[1]["args"]["line"] == "pv_ticket.h:63"
    assert steps[1]["args"]["source"].startswith("ol_cas_acquire(&l->word")


def test_slices_follow_each_other_and_steps_lie_in_them(fake: Fake) -> None:
    entries = traced(fake)
    for tid in (1, 2):
        states = [e for e in entries if e.get("cat") == "state" and e["tid"] == tid]
        for one, next_one in pairwise(states):
            assert one["ts"] + one["dur"] <= next_one["ts"]
            assert one["name"] != next_one["name"]
        own = (e for e in entries if e.get("cat") == "step" and e["tid"] == tid)
        for step in (e for e in own if not e["name"].startswith("drain")):
            around = [s for s in states if s["ts"] <= step["ts"] < s["ts"] + s["dur"]]
            assert [s["name"] for s in around] == ["runs"], step
    off = [e for e in entries if e["name"] == "off"]
    assert [(e["tid"], e["ts"], e["ts"] + e["dur"]) for e in off] == [(1, 8, 16)]


def test_words_are_counters(fake: Fake) -> None:
    words = [e for e in traced(fake) if e["ph"] == "C"]
    assert {e["name"] for e in words} == {"lock"}
    assert words[1]["args"] == {"value": 0x20000}


def test_the_failure_is_marked(fake: Fake) -> None:
    [mark] = [e for e in traced(fake) if e["ph"] == "i"]
    assert mark["name"] == "use after release"
    assert mark["ts"] == len(STEPS)


def test_each_failure_is_a_process(fake: Fake) -> None:
    entries = traced(fake, "pv_ticket", "--model", "all")
    names = [e["args"]["name"] for e in entries if e["name"] == "process_name"]
    assert names == [f"pv_ticket lock {m} 2x2: use after release" for m in ("sc", "tso", "c11")]


def test_nothing_failed_nothing_is_written(fake: Fake) -> None:
    done = fake("ticket", *ONE, "--trace", "out.json")
    assert done.returncode == 0
    assert "not written: out.json, because no check failed" in done.stdout
    assert not (fake.folder / "out.json").exists()


@pytest.mark.parametrize(
    "spoil",
    [
        {"ph": "X", "dur": None},
        {"ts": -1},
        {"ph": "Q"},
        {"tid": "one"},
        {"name": ""},
    ],
)
def test_the_schema_refuses_what_would_not_load(fake: Fake, spoil: Entry) -> None:
    entries = copy.deepcopy(traced(fake))
    broken = next(e for e in entries if e["ph"] == "X")
    broken.update(spoil)
    if broken["dur"] is None:
        del broken["dur"]
    assert not Draft202012Validator(SCHEMA).is_valid({"traceEvents": entries})
