# SPDX-License-Identifier: MIT
"""A trace's file: what is written is read again; what is broken is refused in a line."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.core.trace import format as traces
from overlock_tools.core.trace.format import ACQUIRE, EVENT, RELEASE, Site, Trace
from tests.command import schema
from tests.core.trace.made_up import made_up

SCHEMA = schema("trace")
GOOD = made_up([[(ACQUIRE, 0, 5), (RELEASE, 0, 7)], [(ACQUIRE, 1, 1), (RELEASE, 1, 2)]])


def content(trace: Trace = GOOD) -> tuple[dict[str, Any], bytes]:
    line, _, events = gzip.decompress(traces.packed(trace)).partition(b"\n")
    return json.loads(line), events


def refusal(tmp_path: Path, raw: bytes) -> str:
    file = tmp_path / "t.trace"
    file.write_bytes(raw)
    with pytest.raises(Fail) as failed:
        traces.read(file)
    assert len(failed.value.message.splitlines()) == 1
    assert len(failed.value.message) < 300
    return failed.value.message


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    trace = replace(GOOD, sites=(Site("/bin/x", 7, "f", "x.c:3"),), lost={"limit": 3})
    file = tmp_path / "t.trace"
    traces.write(file, trace)
    again = traces.read(file)
    assert replace(again, events=trace.events) == trace
    assert (again.events == trace.events).all()
    assert again.lost_events == 3
    assert [int(n) for n in again.events_of(again.threads[1])["lock"]] == [1, 1]
    assert traces.packed(again) == traces.packed(trace), "byte by byte"


def test_others_can_read_it_by_its_header() -> None:
    """docs/reference/trace.md: a line of JSON, then records of these fields, without gaps."""
    header, events = content(replace(GOOD, sites=(Site("/bin/x", 7, "f", "x.c:3"),)))
    jsonschema.validate(header, SCHEMA)
    fields = np.dtype([(name, kind) for name, kind in header["fields"]])
    assert fields == EVENT
    assert fields.itemsize == 40
    found = np.frombuffer(events, fields)
    assert found["work_ns"].tolist() == [5, 7, 1, 2]
    assert [thread["events"] for thread in header["threads"]] == [2, 2]
    assert [header["kinds"][kind] for kind in found["kind"][:2]] == ["acquire", "release"]


def packed(header: dict[str, Any], events: bytes) -> bytes:
    return gzip.compress(json.dumps(header).encode() + b"\n" + events)


BROKEN = {
    "format": ("another's", "its header is another's"),
    "version": (9, "it has version 9, and this reads 1"),
    "program": (3, "the program is 3, not a text"),
    "duration_ns": (-1, "the duration is -1, not a whole number"),
    "lost": ([], "does not say what was lost"),
    "machine": (None, "does not say what was lost, and where"),
    "locks": ([{"kind": "door", "address": 1}], "a lock's kind is 'door'"),
    "sites": ([{"object": 1}], "a site's object is 1, not a text"),
    "threads": ([{"name": "x", "began_ns": 0, "events": 2.5, "lost": 0, "tid": 1}], "2.5"),
}


@pytest.mark.parametrize("key", BROKEN)
def test_a_wrong_header_is_refused(key: str, tmp_path: Path) -> None:
    header, events = content()
    value, why = BROKEN[key]
    assert why in refusal(tmp_path, packed(header | {key: value}, events))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("lock", 2, "an event has an unknown lock"),
        ("site", 0, "an event has a site that there is not"),
        ("whom", 3, "an event waits for a thread that there is not"),
        ("kind", 5, "an event is of an unknown kind"),
    ],
)
def test_a_wrong_event_is_refused(name: str, value: int, why: str, tmp_path: Path) -> None:
    events = GOOD.events.copy()
    events[1][name] = value
    assert why in refusal(tmp_path, traces.packed(replace(GOOD, events=events)))


def test_too_few_and_too_many_events(tmp_path: Path) -> None:
    header, events = content()
    assert "events are missing" in refusal(tmp_path, packed(header, events[:-1]))
    assert "more events than its header says" in refusal(tmp_path, packed(header, events + b"x"))
    header["threads"][0]["events"] = 10**18
    assert "20000000 are most" in refusal(tmp_path, packed(header, events))


@pytest.mark.parametrize("length", [0, 1, 9, 40, 200])
def test_a_cut_file_is_refused(length: int, tmp_path: Path) -> None:
    whole = traces.packed(GOOD)
    assert "is not a whole trace" in refusal(tmp_path, whole[:length])


def test_what_is_no_trace(tmp_path: Path) -> None:
    assert "is not a whole trace" in refusal(tmp_path, b"{}")
    assert "is not JSON" in refusal(tmp_path, gzip.compress(b"[" * 100_000 + b"\n"))
    assert "another's" in refusal(tmp_path, gzip.compress(b"[]\n"))
    assert "cut short, or there is none" in refusal(tmp_path, gzip.compress(b"x" * 100))
    with pytest.raises(Fail, match="cannot be read"):
        traces.read(tmp_path / "missing")
    with pytest.raises(Fail, match="cannot be read"):
        traces.read(tmp_path)
