# SPDX-License-Identifier: MIT
"""An installed copy of the library, as a packager would make it."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BUILD, TOP
from tests.processes import HANG_S


def run(*command: str | Path, env: dict[str, str] | None = None, code: int = 0) -> str:
    """Runs a command, expects its exit code, and returns all that it printed."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        timeout=HANG_S,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode == code, f"{' '.join(map(str, command))}\n{output}"
    return output


@dataclass
class Installed:
    """Where it is, and how a program gets at it."""

    prefix: Path

    @property
    def lib(self) -> Path:
        return next(self.prefix.glob("lib*/**/liboverlock.so")).parent

    @property
    def env(self) -> dict[str, str]:
        return {
            "PKG_CONFIG_PATH": str(self.lib / "pkgconfig"),
            "LD_LIBRARY_PATH": str(self.lib),
        }

    def flags(self, *wanted: str) -> list[str]:
        return run("pkg-config", *wanted, "overlock", env=self.env).split()


def install(build: Path, destination: Path) -> Installed:
    """As `make install DESTDIR=destination PREFIX=/usr/local`."""
    run("cmake", "--install", build, "--prefix", "/usr/local", env={"DESTDIR": str(destination)})
    return Installed(destination / "usr/local")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(BUILD, tmp_path_factory.mktemp("destdir"))


@pytest.fixture(scope="session")
def next_abi(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The same library, built as the next ABI."""
    build = tmp_path_factory.mktemp("abi1")
    run("cmake", "-S", TOP, "-B", build, "-DOVERLOCK_ABI=1")
    chaos = ("chaos", "chaos-guest", "chaos-steal")
    libraries = ("run", "run-counted", "run-checked", "run-fit", "run-spins", "record")
    programs = ("launch", "loops", *chaos, *libraries)
    wanted = ("overlock", "overlock_plain", "defs", *(f"overlock-{name}" for name in programs))
    run("cmake", "--build", build, "-j2", "--target", *wanted)
    return install(build, tmp_path_factory.mktemp("destdir1"))


@pytest.fixture(scope="session")
def defs() -> Any:
    return json.loads((BUILD / "native/defs.json").read_text())
