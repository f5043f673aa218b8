# SPDX-License-Identifier: MIT
"""Pictures are of the part that was asked for, say what they show, and are for light and dark."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.sim import svg
from overlock_tools.sim.trace import Trace
from tests.sim.command.test_explain import CASES
from tests.sim.command.traces import US, story


def words(text: str) -> list[str]:
    root = ET.fromstring(text)  # noqa: S314
    return [
        "".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")
    ]


def test_rows_and_legend_are_those_of_the_run() -> None:
    said = words(svg.svg(Trace(story()), title="a title"))
    assert {"a title", "vCPU 1", "vCPU 4", "lock 0", "90.0 µs"} <= set(said)
    assert {"spins", "has no CPU, waits for the lock", "lock free, but waited for"} <= set(said)
    assert "sleeps" not in said


def test_the_lock_is_free_only_while_it_is_waited_for() -> None:
    trace = Trace(story())
    [(_, spans)] = svg._locks(trace, (0, 110 * US))
    assert [(start // US, end // US, state) for start, end, state in spans] == [
        (1, 10, svg.HELD),
        (10, 96, svg.FREE),
        (96, 98, svg.HELD),
        (98, 99, svg.FREE),
        (99, 100, svg.HELD),
    ]


@pytest.mark.parametrize("case", CASES)
def test_every_case_can_be_drawn(case: str, tmp_path: Path) -> None:
    trace = Trace(CASES[case]()["trace"])
    svg.write_svg(trace, tmp_path / "out.svg", (trace.start, trace.end))
    assert words((tmp_path / "out.svg").read_text())


def test_colours_are_the_readers(tmp_path: Path) -> None:
    text = svg.svg(Trace(story()))
    assert "prefers-color-scheme:dark" in text
    bare = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    assert not re.search(r"#(?!ffffff)[0-9a-f]{6}", bare), "a colour that the theme does not set"
    used = set(re.findall(r"var\(--series-\d\)", bare))
    assert used
    assert all(name[4:-1] + ":" in text for name in used)


def test_what_is_outside_is_refused() -> None:
    with pytest.raises(Fail, match=r"the trace has 0 to 0\.11 ms"):
        svg.svg(Trace(story()), (0, 200 * US))
