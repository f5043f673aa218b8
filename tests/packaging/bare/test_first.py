# SPDX-License-Identifier: MIT
"""docs/using.md's first programs, word for word, each on a bare Debian 12 of its own."""

import re
import time
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.packaging.bare.debian import copy_to

PAGE = (TOP / "docs/using.md").read_text()
MOST_COMMANDS = 3
ENDS = {"C": "8000\n", "C++": "499500\n", "Rust": "8000\n", "Python": ""}


def commands(language: str) -> list[str]:
    found = re.search(rf"^In {re.escape(language)}[:,].*\n\n((?: {{4}}.*\n)+)", PAGE, re.MULTILINE)
    assert found
    return [line.strip() for line in found[1].splitlines()]


@pytest.mark.parametrize("language", ENDS)
def test_a_first_program(language: str, tmp_path: Path) -> None:
    lines = commands(language)
    assert len(lines) <= MOST_COMMANDS
    bare = copy_to(tmp_path)
    bare.take_checkout("src/overlock")
    bare.says("mkdir /src/first")
    begun, said = time.monotonic(), ""
    for line in lines:
        said = bare.says(f"cd /src/first; {line}")
        print(f"{language}: {time.monotonic() - begun:.0f} s: {line}")
    assert said.endswith(ENDS[language])
    if language == "Python":
        page = (bare.root / "src/first/report.html").read_text()
        assert "tas_yield" in page
        assert "ticket" in page
