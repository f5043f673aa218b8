# SPDX-License-Identifier: MIT
"""docs/reference/errors*.md: what they say that a command prints is what the command prints.

An entry is a fenced block: a line `$ overlock ...`, below it the line on standard error. What the
command meets is prepared by the fixture that `<!-- given: NAME -->` above the block names.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.command import run_forked
from tests.conftest import NATIVE, TOP

PAGES = sorted(TOP.glob("docs/reference/errors*.md"))
ENTRY = re.compile(
    r"(?:<!-- given: (?P<given>[\w ]+) -->\n\n?)?```console\n"
    r"\$ (?P<command>[^\n]+)\n(?P<answer>[^\n]+)\n```"
)
AT_LEAST = 20


@dataclass(frozen=True)
class Entry:
    given: str
    command: str
    answer: str


def entries(text: str) -> list[Entry]:
    found = [Entry(m["given"] or "", m["command"], m["answer"]) for m in ENTRY.finditer(text)]
    assert len(found) == text.count("```console"), "an entry is not of the form that is tested"
    return found


Environment = dict[str, str]
GIVEN: dict[str, Callable[[Path], Environment]] = {}


def given(function: Callable[[Path], Environment]) -> Callable[[Path], Environment]:
    GIVEN[function.__name__.replace("_", " ")] = function
    return function


@given
def nothing_is_built(folder: Path) -> Environment:
    (folder / "native").mkdir()
    return {"OVERLOCK_NATIVE": "native"}


@given
def a_build_without_the_checker(folder: Path) -> Environment:
    (folder / "native").mkdir()
    shutil.copy(NATIVE / "defs.json", folder / "native")
    return {"OVERLOCK_NATIVE": "native"}


@given
def a_header_with_a_mistake(folder: Path) -> Environment:
    (folder / "mine.h").write_text("#include <overlock/port.h>\nint f(void) { return no_such; }\n")
    return {}


@given
def a_header_with_a_dash(folder: Path) -> Environment:
    (folder / "my-lock.h").write_text("#include <overlock/port.h>\n")
    return {}


@given
def a_file_with_other_names(folder: Path) -> Environment:
    (folder / "mine.c").write_text("struct m { int v; };\nvoid grab(struct m *m) {}\n")
    return {}


@given
def a_file_with_two_locks(folder: Path) -> Environment:
    shutil.copy(TOP / "tests/check/ordinary/locks/two_locks.c", folder / "mine.c")
    return {}


@given
def a_static_program(folder: Path) -> Environment:
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-static", "-o", "program", "main.c"], cwd=folder, check=True)
    return {}


@given
def a_setuid_program(folder: Path) -> Environment:
    shutil.copy(shutil.which("true") or "/bin/true", folder / "program")
    (folder / "program").chmod(0o4755)
    return {}


@given
def a_result_of_an_older_version(folder: Path) -> Environment:
    (folder / "old.json").write_text('{"format": "overlock-result", "version": 1}')
    return {}


@given
def a_result(folder: Path) -> Environment:
    """Of one lock and one round, complete."""
    command = ["bench", "sections", "--locks", "tas", "--baseline", "tas", "--threads", "1"]
    short = ["--rounds", "1", "--seconds", "0.01", "--json", "new.json"]
    environment = {**os.environ, "OVERLOCK_NATIVE": str(NATIVE)}
    assert run_forked([*command, *short], folder, environment).returncode == 0
    return {}


def answer(entry: Entry, folder: Path) -> str:
    """What the command prints on standard error in a folder prepared for it, without a terminal."""
    extra = GIVEN[entry.given](folder) if entry.given else {}
    name, *args = shlex.split(entry.command)
    while "=" in name:  # variables before the command, as in a shell
        variable, _, value = name.partition("=")
        extra[variable] = value
        name, *args = args
    assert name == "overlock"
    environment = {**os.environ, "LC_ALL": "C", "OVERLOCK_NATIVE": str(NATIVE), **extra}
    return run_forked(args, folder, environment).stderr


TEXT = "\n".join(page.read_text() for page in PAGES)


@pytest.mark.parametrize("entry", entries(TEXT), ids=lambda e: e.command)
def test_it_says_just_that(entry: Entry, tmp_path: Path) -> None:
    assert answer(entry, tmp_path) == entry.answer + "\n"


def test_the_page_has_them_all() -> None:
    assert len(entries(TEXT)) >= AT_LEAST
    assert TEXT.count("\n## ") == len(entries(TEXT)), "an error of its own has a heading of its own"


def test_another_text_is_noticed(tmp_path: Path) -> None:
    entry = entries(TEXT)[0]
    assert answer(entry, tmp_path) != entry.answer.replace("overlock", "overclock") + "\n"
