# SPDX-License-Identifier: MIT
"""The files of docs/measured: JSON in as few lines as a diff can still be read in."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from overlock_tools.core.system import files

WIDTH = 2000  # what is shorter is one line


def _lines(value: Any, before: str, after: str, indent: str) -> Iterator[str]:
    text = f"{before}{json.dumps(value, ensure_ascii=False)}{after}"
    if len(text) <= WIDTH or not isinstance(value, dict | list) or not value:
        yield text
        return
    named = isinstance(value, dict)
    opening, closing = "{}" if named else "[]"
    yield before + opening
    deeper = indent + " "
    for number, one in enumerate(value, 1):
        name = f"{json.dumps(one, ensure_ascii=False)}: " if named else ""
        comma = "," if number < len(value) else ""
        yield from _lines(value[one] if named else one, deeper + name, comma, deeper)
    yield indent + closing + after


def _shared(lines: Iterable[str]) -> Iterator[str]:
    """Neighbours of one depth share a line, such as the rows of a matrix."""
    line = ""
    for one in lines:
        if line and _depth(line) == _depth(one) and len(line) + len(one) <= WIDTH:
            line += " " + one.strip()
            continue
        if line:
            yield line
        line = one
    yield line


def _depth(line: str) -> tuple[int, bool]:
    """And whether it is whole."""
    return len(line) - len(line.lstrip()), line.endswith(("[", "{"))


def text(document: Any) -> str:
    return "\n".join(_shared(_lines(document, "", "", ""))) + "\n"


def write(file: Path, document: Any) -> None:
    """The whole file or none of it."""
    files.write(file, text(document))
