# SPDX-License-Identifier: MIT
"""Every tunable says what its default rests on, everywhere it is listed."""

import json
import subprocess
from pathlib import Path

import pytest

from overlock_tools.cli import main
from overlock_tools.core.model import defs
from tests.conftest import TOP


def listed(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main.run(["tunables", *args]) == 0
    return capsys.readouterr().out


def test_the_list_says_all_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(listed(capsys).split())
    for tunable in defs.load().tunables.values():
        facts = (tunable.what, f"default {tunable.default}", tunable.range)
        for fact in (*facts, tunable.option, tunable.variable, f"default from: {tunable.source}"):
            assert fact in text


def test_json_has_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    entries = json.loads(listed(capsys, "--json"))
    assert [entry["name"] for entry in entries] == list(defs.load().tunables)
    assert all(entry["source"] and entry["when"] in ("any", "idle") for entry in entries)


LINE = """OL_TUNABLE(mutant, {unit}, {default}, 2, 1024, any, "{source}", "a mutant")"""
WHOLE: dict[str, str | int] = {"unit": "power", "default": 64, "source": "dice2019 2"}
BROKEN: dict[str, tuple[dict[str, str | int], str]] = {
    "a default below its range": ({"default": 1}, "mutant: the default is out of range"),
    "a default above its range": ({"default": 2048}, "mutant: the default is out of range"),
    "a default not of its unit": ({"default": 100}, "mutant: the default is not of its unit"),
    "a default without a source": ({"source": ""}, "mutant: where is its default from?"),
}


def compiled(tmp_path: Path, **line: str | int) -> str:
    """What the compiler says of the library's part with one more tunable."""
    listed = tmp_path / "overlock/tunables.def"
    listed.parent.mkdir(exist_ok=True)
    text = (TOP / "include/overlock/tunables.def").read_text()
    listed.write_text(text + LINE.format(**(WHOLE | line)) + "\n")
    includes = (f"-I{folder}" for folder in (tmp_path, TOP / "include", TOP / "lib"))
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-fsyntax-only", *includes]
    done = subprocess.run(
        [*command, TOP / "lib/tunable.c"], capture_output=True, text=True, check=False
    )
    return done.stderr


@pytest.mark.parametrize("broken", BROKEN)
def test_what_the_list_says_of_itself_is_true(tmp_path: Path, broken: str) -> None:
    line, said = BROKEN[broken]
    assert compiled(tmp_path) == ""
    assert said in compiled(tmp_path, **line)
