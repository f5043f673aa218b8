# SPDX-License-Identifier: MIT
"""The image of `make image`, and a server, in podman."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.packaging.bare.podman import Podman, skip_where_none_runs, why_not
from tests.processes import HANG_S

# What a server's container starts, and says of itself in the end.
ASKED = ["grep", "-c", "liboverlock-run", "/proc/self/maps"]


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("busybox"):
        pytest.skip("there is no busybox; make image brings busybox-static")
    file = tmp_path_factory.mktemp("image") / "overlock.tar"
    words = [sys.executable, str(TOP / "tools/image.py"), str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture(scope="session")
def podman(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    if why := why_not():
        pytest.skip(why)
    tried = Podman(tmp_path_factory.mktemp("podman"))
    tried.says("load", "--quiet", "--input", str(image))
    grep, cat = (Path(shutil.which(name) or "") for name in ("grep", "cat"))
    tried.make_image("maps", ASKED, grep)
    skip_where_none_runs(tried, "maps", "grep", "-q", "", "/proc/version")
    source, team = TOP / "tests/packaging/bare/programs/team.c", tried.folder / "team"
    subprocess.run(["cc", "-O2", "-g", "-pthread", source, "-o", team], check=True)
    tried.make_image("server", ["team"], team, cat)
    yield tried
    tried("pod", "rm", "--all", "--force", "--time", "0")
    tried("rm", "--all", "--force", "--time", "0")
