# SPDX-License-Identifier: MIT
"""The report that a program leaves for `overlock run --stacks` and `overlock tune`."""

import json
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.core.system import symbols
    from overlock_tools.run import profiling, stacks, tuning
    from tests.fuzz.hostile import fuzz, is_plain, is_refused

FOLDER = Path(tempfile.mkdtemp(prefix="overlock-fuzz-"))
symbols.tool = lambda: None  # type: ignore[assignment] # what it prints is fuzzed by itself


def shown(path: Path) -> None:
    report = profiling.Reader(path).new()
    assert report
    if report["sites"]:
        json.dumps(tuning.advice(report).to_json())
    if report["sites"] and "stacks" in report:
        named = stacks.named(report)
        assert is_plain(stacks.table(named, "program", 5)), "a name tells a terminal something"
        assert is_plain(stacks.folded(named)), "a name tells a terminal something"
        json.dumps(named)


def take(data: bytes) -> None:
    path = FOLDER / "report"
    path.write_bytes(data)
    is_refused(lambda: shown(path))


if __name__ == "__main__":
    fuzz(take, documents=True)
