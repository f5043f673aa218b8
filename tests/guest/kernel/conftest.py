# SPDX-License-Identifier: MIT
"""Builds the module, with locks that are wrong on purpose."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.mutant import changed

LINE = '#define OL_LOCK_LINE OL_LOCK({id}, timed, OL_FITS4 | OL_ALONE, "tests", "a mutant")\n'

Build = Callable[..., subprocess.CompletedProcess[str]]


def mutant(folder: Path, name: str, *changes: tuple[str, str], before: str = "") -> Path:
    """The ttas lock under another name, changed so that it is wrong."""
    text = (TOP / "include/overlock/lock/ttas.h").read_text()
    text = changed(text, *changes).replace("ttas", name).replace("TTAS", name.upper())
    include = "#include <overlock/port.h>\n"
    text = text.replace(include, include + LINE.format(id=name) + before)
    header = folder / f"{name}.h"
    header.write_text(text)
    return header


@pytest.fixture(scope="session")
def build() -> Build:
    def build(folder: Path, *headers: Path) -> subprocess.CompletedProcess[str]:
        # With a mutant of ours to build, the real locks would only cost time.
        env = {**os.environ, "LOCKS": ""} if headers else None
        command = [TOP / "guest/build-module", folder, *headers]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env)

    return build


@pytest.fixture(scope="session")
def module(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the module as it is shipped."""
    folder = tmp_path_factory.mktemp("module")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr + done.stdout
    return folder
