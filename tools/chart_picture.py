#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/img/counterexample.svg: a counterexample on a terminal, with numbered marks.

docs/check.md explains the marks. Needs overlock-check and the mutants: `make
test` builds them.
"""

import io
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from counterexamples import COUNTEREXAMPLES, TOP
from overlock_tools.check import display
from overlock_tools.check.job import Job, Size, Subject
from overlock_tools.check.outcome import Outcome
from overlock_tools.core.system import native

OUT = TOP / "docs/img/counterexample.svg"
SHOWN = "second-look"
WIDTH = 118  # letters
CHAR, LINE, LEFT, TOP_OF_TEXT = 12.2, 24.4, 9.0, 41.0  # the measures of rich's pictures
WEB_FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)
FONT = "DejaVu Sans Mono, Menlo, Consolas, monospace"


@dataclass(frozen=True)
class Mark:
    """A number next to the first occurrence of the text, `aside` letters from its start."""

    number: int
    text: str
    aside: float = 0.0


MARKS = (
    Mark(1, "FAILS: use after release", 25.5),
    Mark(2, "touches lock after its", 40.5),
    Mark(3, "┏ cas acquire", 14.4),
    Mark(4, "→ 0xfffe ", 9.3),
    Mark(5, "  uint16_t old", -5.0),
    Mark(6, "frees  ", 6.8),
    Mark(7, "FAILS  ", 6.8),
    Mark(8, "holds the lock", 15.5),
)


def outcome() -> Outcome:
    one = COUNTEREXAMPLES[SHOWN]
    mutant = Path(one.header).parents[2]
    size = Size.parse(one.size)
    job = Job(Subject("pv_ticket", header=Path(one.header)), one.scenario, size=size)
    command = [str(native.checker()), f"--load={TOP / mutant}.so", f"--replay={one.schedule}"]
    command += [f"--contexts={size.contexts}", f"--acquisitions={size.acquisitions}"]
    done = subprocess.run(
        [*command, f"--scenario={one.scenario}"], capture_output=True, text=True, check=False
    )
    return Outcome(job, json.loads(done.stdout.splitlines()[-1])["result"])


def circle(mark: Mark, lines: list[str]) -> str:
    row = next(n for n, line in enumerate(lines) if mark.text in line)
    x = LEFT + CHAR * (lines[row].index(mark.text) + mark.aside)
    y = TOP_OF_TEXT + LINE * row + LINE / 2
    place = f"x='{x:.1f}' y='{y + 5:.1f}' text-anchor='middle' font-size='15' fill='#fff'"
    return (
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='10' fill='#d55e00'/>"
        f"<text {place} font-weight='bold' font-family='sans-serif'>{mark.number}</text>\n"
    )


def draw() -> str:
    os.chdir(TOP)  # the picture shows the header's path relative to it
    out = Console(
        record=True, width=WIDTH, force_terminal=True, color_system="truecolor", file=io.StringIO()
    )
    display.counterexample(out, outcome())
    lines = out.export_text(clear=False).splitlines()
    code = WEB_FONTS.sub("", CONSOLE_SVG_FORMAT).replace("Fira Code", FONT)
    svg = out.export_svg(title="overlock check", code_format=code, unique_id="overlock")
    marks = "".join(circle(mark, lines) for mark in MARKS)
    return svg.replace("</svg>", f"{marks}</svg>").replace("\u00a0", "&#160;")


if __name__ == "__main__":
    OUT.write_text(draw())
