# SPDX-License-Identifier: MIT
"""Why what a paper says is not so in the simulator: sentences whose numbers come from the runs."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from overlock_tools.lab.reproduce.simulated.words import number

FILE = Path(__file__).with_name("why.toml")


class Told(float):
    """A number in a sentence: as `{name}`, or as `{name:%}` where it is a share."""

    def __format__(self, spec: str) -> str:
        if spec != "%":
            return number(float(self))
        percent = 100 * float(self)
        return f"{number(percent) if percent < 1 else f'{percent:.0f}'} %"


@cache
def reasons() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text())


def numbers(claim: str) -> dict[str, Any]:
    """What the claim's reason asks of the runs: as a check, by name."""
    found: dict[str, Any] = reasons().get(claim, {}).get("numbers", {})
    return found


def sentences(claim: str, known: Mapping[str, float | str]) -> Iterator[str]:
    """Those whose numbers are known."""
    values = {name: Told(value) for name, value in known.items()}
    for sentence in reasons().get(claim, {}).get("text", ()):
        try:
            yield sentence.format_map(values)
        except KeyError:
            continue
