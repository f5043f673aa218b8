# SPDX-License-Identifier: MIT
"""The packages, built once."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.processes import HANG_S

PACKAGES = ("liboverlock-dev", "liboverlock0", "overlock", "overlock-monitor", "overlock-tools")


def run(*command: str | Path, given: str = "", **more: str) -> str:
    """What it printed; it must end well and say nothing on standard error."""
    done = subprocess.run(
        [str(word) for word in command],
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, **more},
        timeout=3 * HANG_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not shutil.which("dh"):
        pytest.skip("there is no debhelper; make deb brings it")
    folder = tmp_path_factory.mktemp("deb")
    others = folder / "other_0.1.0_all.deb"
    others.touch()
    files = [Path(line) for line in run(TOP / "tools/deb", folder).splitlines()]
    assert others.exists()
    assert others not in files
    found = {path.name.split("_")[0]: path for path in files}
    assert set(PACKAGES) <= set(found)
    return found
