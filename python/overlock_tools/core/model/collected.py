# SPDX-License-Identifier: MIT
"""What `overlock collect` brings back of a machine: one archive, whose list says what is in it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.core.model import results
from overlock_tools.core.model.results import Result
from overlock_tools.core.system import archive, reading
from overlock_tools.core.system.errors import Fail

FORMAT = "overlock collected 1"
LIST = "collected.json"
RESULT = "bench-"  # what files of results begin with


@dataclass(frozen=True)
class Done:
    """A part, as it ended."""

    part: str
    command: str
    file: str  # empty: none
    seconds: float
    why: str = ""  # it is not whole, or missing


@dataclass(frozen=True)
class Collected:
    name: str  # of the machine
    version: str
    date: str
    budget_s: float
    machine: dict[str, Any]
    parts: list[Done] = field(default_factory=list)
    format: str = FORMAT

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Read:
    about: Collected
    files: Mapping[str, bytes]

    def results(self) -> list[Result]:
        """Named after the machine."""
        names = sorted(name for name in self.files if name.startswith(RESULT))
        return [self._result(name) for name in names]

    def _result(self, name: str) -> Result:
        text = self.files[name].decode(errors="replace")
        result = results.from_text(text, f"{name} of {self.about.name}")
        result.title = f"{result.title}, {self.about.name}"
        return result


def is_archive(path: Path) -> bool:
    return path.name.endswith(archive.ENDING)


def read(path: Path) -> Read:
    found = archive.unpack(path)
    try:
        raw = reading.parsed(found[LIST].decode())
        if raw.get("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        about = reading.made(Collected, raw, LIST)
    except (KeyError, ValueError, UnicodeDecodeError) as error:
        why = "it has no list" if isinstance(error, KeyError) else error
        raise Fail(f"{path} is not an archive of `overlock collect`: {why}") from error
    return Read(about, found)
