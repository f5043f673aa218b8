# SPDX-License-Identifier: MIT
"""What a foreign suite is, as suites.toml has it, and how it gets here."""

import hashlib
import os
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.core.model import defs
from overlock_tools.core.system.errors import FAILED, MISSING, Fail, last_line
from overlock_tools.guest import debsource
from overlock_tools.guest.packages import Tell

SUITES = Path(__file__).resolve().parent / "suites.toml"
BUILD_SECONDS = 900.0


@dataclass(frozen=True)
class Suite:
    """One of suites.toml, whose first lines say what each of these is."""

    name: str
    what: str
    reach: str
    programs: tuple[str, ...]
    command: tuple[str, ...]
    reads: str
    seconds: float
    small: tuple[str, ...] = ()
    crowded: bool = False
    needs: tuple[str, ...] = ()
    source: str = ""
    build: str = ""

    def words(self, program: str, folder: Path, built: Path) -> list[str]:
        """The command for a program; {…} stand for what is only known now."""
        known = {"{program}": program, "{folder}": str(folder), "{built}": str(built)}
        return [replaced(word, known) for word in self.command]

    def bears(self, lock: str) -> bool:
        """Many threads at one mutex take hours if a lock hands over in order and never yields."""
        known = defs.load().locks.get(lock)
        if not self.crowded or not known:
            return True
        return not {"fifo", "late_fifo"} & set(known.traits) or "yields" in known.traits

    def chosen(self, patterns: Sequence[str], small: bool) -> list[str]:
        programs = self.small if small else self.programs
        return [p for p in programs if not patterns or any(text in p for text in patterns)]


def replaced(text: str, known: dict[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(name, value)
    return text


def load(path: Path = SUITES) -> dict[str, Suite]:
    def frozen(value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    entries = tomllib.loads(path.read_text())["suite"]
    suites = [Suite(**{k: frozen(v) for k, v in entry.items()}) for entry in entries]
    return {suite.name: suite for suite in suites}


def lacking(suite: Suite) -> list[str]:
    """Of the files it needs, those that are not here."""
    return [path for path in suite.needs if not Path(path).exists()]


def obtained(suite: Suite, home: Path, tell: Tell) -> Path:
    """Its folder, with its source built there if it has one; kept for the next time."""
    if missing := lacking(suite):
        raise Fail(f"{suite.name} needs {', '.join(missing)}; run `make third-party`", MISSING)
    if not suite.source:
        return home
    key = hashlib.sha256(f"{suite.source}\n{suite.build}".encode()).hexdigest()[:12]
    built = home / f"{suite.name}-{key}"
    if not built.exists():
        fresh = home / f".{suite.name}-new"
        shutil.rmtree(fresh, ignore_errors=True)
        debsource.fetched(suite.source, fresh, tell)
        tell(f"building {suite.name}")
        build(suite, fresh, home / f"{suite.name}.log")
        fresh.rename(built)
    return built


def build(suite: Suite, source: Path, log: Path) -> None:
    command = ["bash", "-euxc", suite.build]
    with log.open("wb") as out:
        try:
            done = subprocess.run(
                command,
                cwd=source,
                env={**os.environ, "LC_ALL": "C", "PROGRAMS": " ".join(suite.programs)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=BUILD_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise Fail(f"{suite.name} was not built in {BUILD_SECONDS:g} s", FAILED) from error
    if done.returncode:
        why = last_line(log.read_text(errors="replace"))
        raise Fail(f"{suite.name} cannot be built: {why}; see {log}", FAILED)
