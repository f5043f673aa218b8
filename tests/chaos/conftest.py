# SPDX-License-Identifier: MIT
"""Programs under `overlock chaos` and under its library alone."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from overlock_tools.chaos import record
from overlock_tools.chaos.record import Recorded
from overlock_tools.chaos.settings import Settings
from tests.command import Done, run_forked, schema
from tests.conftest import NATIVE
from tests.processes import HANG_S

HERE = Path(__file__).parent
SCHEMA = schema("chaos")
# Without inlining, and calls that become jumps, each function has sites of its own. Being late, a
# thread comes at the bad moment only if the other one loses its CPU; 40 us may be chaos's own work.
FLAGS = ["-D_GNU_SOURCE", "-O1", "-fno-inline", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
FLAGS += ["-DLATE_US=10000"]

TRIES = 5

Json = dict[str, Any]
Build = Callable[..., Path]
Chaos = Callable[..., Done]


def clean() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("OVERLOCK_CHAOS_")}


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """A program by its path below this folder, without .c; kept."""
    folder = tmp_path_factory.mktemp("chaos")

    def one(name: str, *flags: str) -> Path:
        program = folder / (Path(name).name + "".join(flags))
        if not program.exists():
            source = HERE / f"{name}.c"
            subprocess.run(["cc", *FLAGS, *flags, source, "-o", program], check=True)
        return program

    return one


@pytest.fixture
def chaos(tmp_path: Path) -> Chaos:
    """`overlock chaos` with these words; again if a planted bug shows without chaos."""

    def run(*words: str | Path) -> Done:
        for _ in range(TRIES):
            done = run_forked(["chaos", *map(str, words)], tmp_path, clean())
            if "fails without chaos" not in done.stderr:
                break
        return done

    return run


def report_of(file: Path) -> Json:
    found: Json = json.loads(file.read_text())
    jsonschema.validate(found, SCHEMA)
    return found


def under(settings: Settings, folder: Path, *command: str | Path, code: int = 0) -> Recorded:
    """Under the library, without the command."""
    folder.mkdir()
    told = settings.variables() | {"OVERLOCK_CHAOS_RECORDS": str(folder)}
    preload = {"LD_PRELOAD": str(NATIVE / "liboverlock-chaos.so")}
    done = subprocess.run(
        [*map(str, command)], env=clean() | told | preload, timeout=HANG_S, check=False
    )
    assert done.returncode == code
    return record.read(folder)
