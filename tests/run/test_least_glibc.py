# SPDX-License-Identifier: MIT
"""The oldest glibc for the preloaded libraries: their symbols' versions, and what is said."""

import platform
import re
import subprocess

import pytest

from overlock_tools.core.system import native
from tests.conftest import TOP

HEADER = TOP / "run/least_glibc.h"
PAGE = TOP / "docs/run.md"
BUILT_ON = "2.36"  # Debian 12's; newer headers ask for newer symbols
WATCH = ("run-counted", "run-checked", "chaos", "record")
LIBRARIES = ["liboverlock-run.so", *(f"liboverlock-{name}.so" for name in WATCH)]


def told() -> str:
    found = re.search(r'#define OL_LEAST_GLIBC\s+"([\d.]+)"', HEADER.read_text())
    assert found
    return found[1]


def needed(library: str) -> str:
    """The newest version that the loader insists on."""
    command = ["readelf", "--version-info", "--wide", str(native.folder() / library)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    versions: list[str] = re.findall(r"Name: GLIBC_([\d.]+)\s+Flags: none", text)
    return max(versions, key=lambda version: [int(part) for part in version.split(".")])


@pytest.mark.skipif(platform.libc_ver()[1] != BUILT_ON, reason="what is said is of Debian 12")
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_version_of_the_symbols_is_the_one_that_is_said(library: str) -> None:
    assert needed(library) == told()


def test_the_page_says_the_same() -> None:
    page = " ".join(PAGE.read_text().split())
    assert f"need {told()} or later by their symbols' versions" in page


def test_only_one_page_says_it() -> None:
    pages = [TOP / "README.md", *(TOP / "docs").glob("*.md")]
    say = [
        page for page in pages if re.search(r"glibc 2\.\d+ or (?:later|newer)", page.read_text())
    ]
    assert not say
