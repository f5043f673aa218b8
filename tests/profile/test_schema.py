# SPDX-License-Identifier: MIT
"""schema/profile.json is what reports are. tests/profile validates those of real programs, too."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from overlock_tools.profile import causes
from overlock_tools.profile.report import FORMAT, MOST, STACKS
from tests.command import schema
from tests.profile.test_command import profile
from tests.profile.test_report import cause, frames_of, report_of

SCHEMA = schema("profile")
STATES = Path(__file__).parents[2] / "profile/waits.def"
Report = dict[str, Any]

# Two threads fight for a mutex of glibc's by Python's own lock, which no program needs to build.
WAITS = """
import threading, time
lock = threading.Lock()
def work():
    for _ in range(20):
        with lock:
            time.sleep(.005)
threads = [threading.Thread(target=work) for _ in range(2)]
[one.start() for one in threads]
[one.join() for one in threads]
"""


def check(found: Report) -> None:
    jsonschema.validate(found, SCHEMA)


def rich() -> Report:
    """With everything that a lock may have."""
    return report_of(stacks=[frames_of(0x10)], causes=[cause(), cause(ns=5, taker="other")])


def test_a_report_of_a_real_program(tmp_path: Path) -> None:
    done = profile(
        "--by", "looks", "--json", "r.json", "--", sys.executable, "-c", WAITS, folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["by"] == "looks"
    check(found)


def test_one_with_everything() -> None:
    found = rich()
    assert found["locks"][0]["stacks"]
    assert len(found["locks"][0]["who"]) == 2
    assert found["advice"]
    check(found)


def test_its_lists_are_the_code_s() -> None:
    parts, lock = SCHEMA["$defs"], SCHEMA["$defs"]["lock"]["properties"]
    assert parts["cause"]["enum"] == [one.name for one in causes.CAUSES]
    assert parts["state"]["enum"] == re.findall(r'^STATE\(\w+, "(\w+)"', STATES.read_text(), re.M)
    assert SCHEMA["properties"]["format"]["const"] == FORMAT
    assert (SCHEMA["properties"]["locks"]["maxItems"], lock["stacks"]["maxItems"]) == (
        MOST,
        2 * STACKS,
    )


def test_nothing_goes_undescribed() -> None:
    """Every object says which properties it may have."""
    todo: list[Any] = [SCHEMA]
    seen = 0
    while todo:
        one = todo.pop()
        todo += one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
        if isinstance(one, dict) and one.get("type") == "object":
            seen += 1
            assert "additionalProperties" in one, one
    assert seen > 10


def _new_field(found: Report) -> None:
    found["locks"][0]["colour"] = "red"


def _no_split(found: Report) -> None:
    del found["locks"][0]["split"]


def _below_zero(found: Report) -> None:
    found["locks"][0]["wait_ns"] = -1


def _unknown_cause(found: Report) -> None:
    found["locks"][0]["split"]["bad luck"] = 1


def _other_version(found: Report) -> None:
    found["format"] = "overlock profile 2"


def _slower(found: Report) -> None:
    found["advice"][0]["predicted"] = 0.5


@pytest.mark.parametrize(
    "spoil", [_new_field, _no_split, _below_zero, _unknown_cause, _other_version, _slower]
)
def test_other_documents_are_refused(spoil: Any) -> None:
    found = rich()
    spoil(found)
    with pytest.raises(jsonschema.ValidationError):
        check(found)
