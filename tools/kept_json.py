# SPDX-License-Identifier: MIT
"""The files of docs/measured: JSON in as few lines as a diff can still be read in."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from overlock_tools.core.system import files

WIDTH = 400  # what is shorter is one line


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


def text(document: Any) -> str:
    return "\n".join(_lines(document, "", "", "")) + "\n"


def write(file: Path, document: Any) -> None:
    """The whole file or none of it."""
    files.write(file, text(document))
