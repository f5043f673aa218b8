# SPDX-License-Identifier: MIT
"""Results: read, written again, compared with each other and with themselves, and as CSV."""

import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.cli.commands import compare, report
    from overlock_tools.core.model import results
    from tests.fuzz.hostile import commanded, fuzz

assert compare.command
assert report.command
FOLDER = Path(tempfile.mkdtemp(prefix="overlock-fuzz-"))
GOOD = Path(__file__).with_name("seeds") / "results/bench.json"


def take(data: bytes) -> None:
    given, table = FOLDER / "given.json", FOLDER / "table.csv"
    given.write_bytes(data)
    commanded("report", given, "--csv", table)
    commanded("report", given, "--csv-summary", table)
    commanded("compare", GOOD, given)
    commanded("compare", given, given, "--fail-on-regression", "5")
    commanded("compare", given, "--variants", "ticket,pthread_mutex")
    assert results


if __name__ == "__main__":
    fuzz(take, documents=True)
