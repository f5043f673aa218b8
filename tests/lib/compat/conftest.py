# SPDX-License-Identifier: MIT
"""What compiling with the libraries' own headers needs; without them tests are skipped."""

import shutil
import subprocess
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import debsource
from tests.conftest import BUILD
from tests.lib.install.conftest import defs, installed

__all__ = ["defs", "installed"]  # fixtures of tests/lib/install


@pytest.fixture(scope="session")
def ck() -> list[str]:
    if not Path("/usr/include/ck_spinlock.h").exists():
        pytest.skip("libck-dev is not installed")
    return []


@pytest.fixture(scope="session")
def dpdk() -> list[str]:
    asked = ["pkg-config", "--cflags", "libdpdk"]
    if not shutil.which(asked[0]) or subprocess.call(asked, stdout=subprocess.DEVNULL):
        pytest.skip("libdpdk-dev is not installed")
    flags = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    return [*flags.replace("-I", "-isystem ").split(), "-lrte_eal"]


@pytest.fixture(scope="session")
def plock() -> list[str]:
    """HAProxy brings it, in its source alone; the source is kept."""
    source = BUILD / "compat/haproxy"
    if not source.exists():
        try:
            debsource.fetched("haproxy", source, print)
        except Fail as why:
            pytest.skip(str(why))
    return ["-isystem", str(source / "include")]
